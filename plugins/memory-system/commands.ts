/** What people do with the memory: look at it, and decide about what is held. */
import { command } from "aegis";
import { type Entry, Memory } from "./_entries.ts";

export const memory = command(
  {
    name: "memory",
    description: "Show what is remembered; approve or discard what is held for review",
    argumentHint: "[list | held | approve <slug> | discard <slug>]",
  },
  async (args, context) => {
    const store = new Memory(context.projectRoot);
    const [verb = "list", slug] = args.split(/\s+/).filter((word) => word !== "");
    if (verb === "list") return shown(await store.active(), "Nothing is remembered yet.");
    if (verb === "held")
      return shown(
        (await store.list()).filter((entry) => entry.held),
        "Nothing is held.",
      );
    if (slug === undefined || (verb !== "approve" && verb !== "discard"))
      throw new Error("expected: /memory list, /memory held, /memory approve <slug>, /memory discard <slug>");
    const entry = await store.get(slug);
    if (!entry.held) throw new Error(`"${slug}" is not held`);
    if (verb === "approve") await store.replace(slug, { held: false });
    else await store.remove(slug);
    return verb === "approve" ? `${slug} is remembered.` : `${slug} is gone.`;
  },
);

function shown(entries: readonly Entry[], none: string): string {
  if (entries.length === 0) return none;
  return entries.map(({ slug, source, description }) => `${slug} (${source}): ${description}`).join("\n");
}
