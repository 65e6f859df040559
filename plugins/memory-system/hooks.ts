/** Hooks that tell agents what is remembered and record who influences them. */
import { hook } from "aegis";
import { Memory } from "./_entries.ts";
import { Influence } from "./_influence.ts";
import { countWords, recall, teaser } from "./_recall.ts";
import { isQuiet } from "./_transcripts.ts";

/** In words; about three words per four tokens. */
const firstTurnWords = 3_000;

const primer = [
  "You have a memory that outlives this session. Save something with `memory_add` when it will matter later and is not in",
  "the project's files: who the user is and how they like to work (`user`), corrections they made (`feedback`), facts that",
  "were hard to find (`fact`), where things are (`reference`). One fact per entry, in a sentence or two. Search before you ask:",
  "`memory_search`, then `memory_read`. Correct what is out of date with `memory_replace`; never store secrets.",
].join("\n");

export const remind = hook("pre_turn", async ({ session, turnIndex, userMessage, senders }, plugin) => {
  await new Influence(plugin.dataDir).turnBegins(session.id, senders);
  const quiet = plugin.config.quiet_agents;
  if (Array.isArray(quiet) && isQuiet(session.agent, quiet)) return null;
  const memory = new Memory(plugin.projectRoot);
  if (turnIndex === 0) return { prependSystem: await introduction(memory) };
  const words = Number(plugin.config.recall_words ?? 1_000);
  const found = recall(await memory.active(), userMessage, Date.now(), words);
  if (found.length === 0) return null;
  return { prependSystem: ["From your memory (memory_read returns the full text):", ...found.map(teaser)].join("\n") };
});

export const noteOutside = hook("after_tool_call", async ({ session, kind }, plugin) => {
  if (kind === "fetch") await new Influence(plugin.dataDir).readFromOutside(session.id);
  return null;
});

export const greet = hook("session_start", ({ session }, plugin) => {
  plugin.log("info", `${session.handle} (${session.agent}) begins${session.depth > 0 ? " below another agent" : ""}`);
});

export const forget = hook("session_end", ({ session }, plugin) => new Influence(plugin.dataDir).forget(session.id));

/** The agent's identity, its user, one line per memory, and when to save more. */
async function introduction(memory: Memory): Promise<string> {
  const [soul, user, entries] = await Promise.all([memory.text("SOUL.md"), memory.text("USER.md"), memory.active()]);
  const parts = [
    ...(soul === "" ? [] : [`# Who you are\n\n${soul}`]),
    ...(user === "" ? [] : [`# Who you work for\n\n${user}`]),
  ];
  let left = firstTurnWords - countWords(parts.join("\n")) - countWords(primer);
  const shown = entries.map(teaser).filter((line) => {
    left -= countWords(line);
    return left >= 0;
  });
  const hidden = entries.length - shown.length;
  if (hidden > 0) shown.push(`… ${hidden} more ${hidden === 1 ? "entry" : "entries"}; memory_search finds them.`);
  if (shown.length > 0) parts.push(`# What you remember\n\n${shown.join("\n")}`);
  return [...parts, `# Remembering\n\n${primer}`].join("\n\n");
}
