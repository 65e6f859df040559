/** Commands for people: show the memory, and decide about held entries. */
import { command } from "aegis";
import { type Entry, Memory } from "./_entries.ts";

export const memory = command(
  {
    name: "memory",
    description: "Show the memory; approve or discard entries that are held for review",
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
