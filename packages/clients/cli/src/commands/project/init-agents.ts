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

/** The default agent. `why` explains it in the file; null if the user chose it. */
export type Choice = {
  slug: string;
  harness: string;
  model: string | null;
  permission: Agent["permission"];
  isolation: "worktree" | null;
  why: string | null;
};

/** An agent that was found on this machine. */
export type FoundAgent = Pick<Agent, "slug" | "harness" | "model">;

export type AgentSession = Pick<Session, "handle" | "agent" | "harness">;

type Options = {
  /** The agents of the file being replaced; null if there is no readable file. */
  before: Readonly<Record<string, Extra["entry"]>> | null;
  choice: { slug: string; harness: string };
  /** The agents for the file besides the default one. */
  colleagues: readonly Extra[];
  /** All agents found on this machine, for the settings of those that open sessions use. */
  found: readonly FoundAgent[];
  named?: readonly string[];
  sessions: readonly AgentSession[];
  /** Returns the problems of a file that also contains these agents. */
  check: (extras: readonly Extra[]) => Promise<readonly unknown[]>;
};

/** `notes` tell the user which agents were kept for open sessions, and which sessions have lost their agent. */
export async function moreAgents(options: Options): Promise<{ extras: Extra[]; notes: string[] }> {
  const { choice, colleagues, found, named = [], sessions, before, check } = options;
  const used = new Map<string, AgentSession[]>();
  for (const session of sessions) used.set(session.agent, [...(used.get(session.agent) ?? []), session]);
  const extras: Extra[] = [];
  const notes: string[] = [];
  const take = async (extra: Extra): Promise<boolean> => {
    // Skip a name that an overlay declares, or an entry that was invalid before: it must not make the file invalid.
    if ((await check([...extras, extra])).length > 0) return false;
    extras.push(extra);
    return true;
  };
  for (const colleague of colleagues) {
    const { slug } = colleague;
    if (slug === choice.slug || slug === offlineSlug || named.includes(slug) || used.has(slug)) continue;
    await take(colleague);
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

/** The other agents only read: one agent that edits files is enough for a start. */
export function colleaguesOf(found: readonly (FoundAgent & { starts: boolean })[]): Extra[] {
  const description = "Reads changes and says what is wrong with them.";
  return found
    .filter(({ starts }) => starts)
    .map((agent) => ({
      slug: agent.slug,
      role: "colleague",
      why: `${agent.harness} also works here: a second agent that reads and reviews`,
      entry: { ...foundEntry(agent), description, permission: "read" },
    }));
}

/** The settings of an agent that no file declares, so that its sessions keep their permission. */
function foundEntry({ harness, model }: Pick<Agent, "harness" | "model">): Extra["entry"] {
  return { harness, ...(model === null ? {} : { model }), permission: "auto" };
}
