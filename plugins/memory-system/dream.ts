/** Reviews recent sessions, saves what is worth keeping and reports it: dreamers, a consolidator, a synthesizer. */
import { type WorkflowContext, WorkflowError, workflow, z } from "aegis";
import {
  type Action,
  aboutOf,
  applyAction,
  fromOthers,
  type Proposals,
  parseActions,
  parseProposals,
  withoutOthers,
} from "./_consolidate.ts";
import { Memory } from "./_entries.ts";
import { consolidatorPrompt, dreamerPrompt, synthesizerPrompt } from "./_prompts.ts";
import { readTranscript, recentFiles, type Transcript } from "./_transcripts.ts";

const dayMs = 24 * 60 * 60 * 1000;

type DreamConfig = { quiet_agents: string[] };

export const dream = workflow(
  "dream",
  {
    description: "Consolidate the memory from the sessions of the last days, and write a dream log.",
    input: z.object({
      lookback_days: z.number().positive().default(7).describe("how far to look back"),
      max_session_files: z.int().min(1).max(500).default(50).describe("how many sessions at most, the newest first"),
      dreamer_queue: z.string().default("dreamer").describe("the queue whose agent dreams"),
    }),
    config: { quiet_agents: ["dreamer"] } as DreamConfig,
  },
  async (context, { lookback_days, max_session_files, dreamer_queue }) => {
    const root = context.projectRoot;
    const { now, files } = await context.step("find recent sessions", async () => {
      const started = Date.now();
      return { now: started, files: await recentFiles(root, started - lookback_days * dayMs, max_session_files) };
    });
    const transcripts = await readAll(context, root, files);
    if (transcripts.length === 0) {
      context.log("nothing was said lately: nothing to dream of");
      return { sessions_read: 0, actions_applied: 0, dream_log: null };
    }
    context.log(`${transcripts.length} sessions to look back at`);
    const replies = await context.parallel(
      transcripts.map((transcript) => () => replyOf(context, dreamer_queue, transcript)),
    );
    const proposals = replies.flatMap((reply, index): Proposals[] => {
      const found = parseProposals(reply);
      if (found === null) context.log(`the dreamer of ${transcripts[index]?.handle} gave no JSON; it is left out`);
      return found === null ? [] : [found];
    });
    await context.checkpoint("dreamt", { sessions: transcripts.length });
    const applied = await consolidate(context, root, dreamer_queue, proposals);
    await context.checkpoint("consolidated", { applied: applied.length });
    const story = await context.delegate(dreamer_queue, synthesizerPrompt(proposals, applied));
    const day = new Date(now).toISOString().slice(0, 10);
    const dream_log = await context.step("write the dream log", async () => {
      const facts = { date: day, sessions_read: transcripts.length, lookback_days, actions: applied };
      const header = Object.entries(facts).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
      await new Memory(root).writeDream(day, `---\n${header.join("\n")}\n---\n\n${story.trim()}\n`);
      return `.aegis/memory/dreams/dream-${day}.md`;
    });
    return { sessions_read: transcripts.length, actions_applied: applied.length, dream_log };
  },
);

/** Returns an empty string if the dreamer failed; the others continue. */
async function replyOf(context: WorkflowContext<DreamConfig>, queue: string, transcript: Transcript): Promise<string> {
  try {
    return await context.delegate(queue, dreamerPrompt(transcript));
  } catch (error) {
    if (!(error instanceof WorkflowError)) throw error;
    context.log(`the dreamer of ${transcript.handle} failed: ${error.message}`);
    return "";
  }
}

async function readAll(
  context: WorkflowContext<DreamConfig>,
  root: string,
  files: readonly string[],
): Promise<Transcript[]> {
  const read: Transcript[] = [];
  for (const file of files) {
    // A step, because the session may continue while the run waits.
    const transcript = await context.step(`read ${file}`, () =>
      readTranscript(root, file, context.config.quiet_agents),
    );
    if (transcript !== null) read.push(transcript);
  }
  return read;
}

/** Applies each change separately, so that one invalid change does not block the others. */
async function consolidate(
  context: WorkflowContext<DreamConfig>,
  root: string,
  queue: string,
  proposals: readonly Proposals[],
): Promise<string[]> {
  const held = fromOthers(proposals);
  const applied = await applyAll(context, root, "held", held);
  const own = withoutOthers(proposals);
  if (own.every((one) => one.proposed_entries.length === 0)) return applied;
  const current = await context.step("read the memory", () => new Memory(root).active());
  const reply = await context.delegate(queue, consolidatorPrompt(current, own));
  const heldSlugs = new Set(held.map(aboutOf));
  const actions = (parseActions(reply) ?? []).filter((action) => !heldSlugs.has(aboutOf(action)));
  if (actions.length === 0) context.log("the consolidator asked for no change");
  return [...applied, ...(await applyAll(context, root, "change", actions))];
}

async function applyAll(
  context: WorkflowContext<DreamConfig>,
  root: string,
  what: string,
  actions: readonly Action[],
): Promise<string[]> {
  const applied: string[] = [];
  for (const [index, action] of actions.entries()) {
    const done = await context.step(`${what} ${index + 1}`, () => applyAction(new Memory(root), action));
    if (done.ok) applied.push(done.what);
    else context.log(`not done: ${done.what}`);
  }
  return applied;
}
