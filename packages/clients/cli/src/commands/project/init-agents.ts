/** Chooses the agents of a first configuration besides the default one: other working harnesses, and agents in use. */
import type { Agent } from "@aegis/contract/agent.ts";
import type { Session } from "@aegis/contract/session.ts";

/** An agent for the file: its name, the reason it is included, and its settings. */
export type Extra = {
  slug: string;
  role: "colleague" | "kept";
  why: string;
  entry: Readonly<Record<string, unknown>>;
};

/** The offline agent always exists, even if the file does not declare it. */
const offlineSlug = "offline";

export type OpenSession = Pick<Session, "handle" | "agent" | "harness">;

type Options = {
  /** The agents of the file being replaced; null if there is no readable file. */
  before: Readonly<Record<string, Extra["entry"]>> | null;
  choice: { slug: string; harness: string };
  /** The agent that detection chose. It becomes a second agent if the user chose another one. */
  agent: { slug: string; harness: string; model?: string | undefined };
  others?: readonly (Pick<Agent, "slug" | "harness" | "model"> & { starts: boolean })[];
  named?: readonly string[];
  sessions: readonly OpenSession[];
  /** Returns the problems of a file that also contains these agents. */
  check: (extras: readonly Extra[]) => Promise<readonly unknown[]>;
};

/** `notes` tell the user which agents were kept for open sessions, and which sessions have lost their agent. */
export async function moreAgents(options: Options): Promise<{ extras: Extra[]; notes: string[] }> {
  const { choice, agent, others = [], named = [], sessions, before, check } = options;
  const found = [{ ...agent, model: agent.model ?? null, starts: true }, ...others];
  const used = new Map<string, OpenSession[]>();
  for (const session of sessions) used.set(session.agent, [...(used.get(session.agent) ?? []), session]);
  const extras: Extra[] = [];
  const notes: string[] = [];
  const take = async (extra: Extra): Promise<boolean> => {
    // Skip a name that an overlay declares, or an entry that was invalid before: it must not make the file invalid.
    if ((await check([...extras, extra])).length > 0) return false;
    extras.push(extra);
    return true;
  };
  for (const one of found) {
    const isThere = one.slug === choice.slug || one.slug === offlineSlug || named.includes(one.slug);
    if (!one.starts || isThere || used.has(one.slug)) continue;
    await take({ slug: one.slug, role: "colleague", why: colleague(one.harness), entry: colleagueEntry(one) });
  }
  for (const [slug, own] of used) {
    const handles = own.map(({ handle }) => handle).join(", ");
    if (slug === choice.slug) {
      if (before !== null && slug in before)
        notes.push(`${handles} use the agent ${slug}, whose settings have changed.`);
      continue;
    }
    if (slug === offlineSlug || slug.includes(":") || named.includes(slug)) continue;
    const detected = found.find((one) => one.slug === slug);
    const entry = before?.[slug] ?? (detected === undefined ? undefined : foundEntry(detected));
    const why = `Kept because open sessions use it: ${handles}`;
    if (entry !== undefined && (await take({ slug, role: "kept", why, entry }))) {
      notes.push(`the agent ${slug} was kept, because open sessions use it: ${handles}.`);
      continue;
    }
    notes.push(
      `open sessions use the agent ${slug}, which is not in this file: ${handles}. Unless a plugin or another file declares it, add it with: aegis config agent add, or close them with: aegis close ${own.map(({ handle }) => handle).join(" ")}`,
    );
  }
  return { extras, notes };
}

function colleague(harness: string): string {
  return `${harness} also works here: a second agent that reads and reviews`;
}

/** The second agent only reads: one agent that edits files is enough for a start. */
function colleagueEntry(agent: Pick<Agent, "harness" | "model">): Extra["entry"] {
  const description = "Reads changes and says what is wrong with them.";
  return { ...foundEntry(agent), description, permission: "read" };
}

/** The settings of an agent that no file declares, so that its sessions keep their permission. */
function foundEntry({ harness, model }: Pick<Agent, "harness" | "model">): Extra["entry"] {
  return { harness, ...(model === null ? {} : { model }), permission: "auto" };
}
