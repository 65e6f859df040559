/** Makes a long conversation short again: the first brief and the latest messages stay word for word. */
import { estimateTokens, type Message, toolCalls, userMessage } from "./messages.ts";
import { repair } from "./repair.ts";

/** How full the context may be before the conversation is summed up. */
const fullAt = 0.75;
/** What the latest messages may take of the context, and the first brief. */
const recentShare = 0.2;
const briefShare = 0.1;
/** What may be shown to the model that writes the summary. */
const transcriptShare = 0.5;
/** So many model calls must lie between two compactions, or a conversation that stays full would only sum itself up. */
export const compactionCooldown = 5;

export const summaryHeading = "[Summary of the conversation so far]";

export function isFull(used: number, size: number): boolean {
  return used > size * fullAt;
}

export type CompactionPlan = {
  /** What is asked of the model, to be sent without tools. */
  request: { system: string; messages: Message[] };
  /** The conversation as it goes on. */
  apply(summary: string): Message[];
};

/** Null when there is nothing to sum up: all of it is the brief and the latest messages. */
export function planCompaction(messages: readonly Message[], size: number): CompactionPlan | null {
  const clean = repair(messages);
  // A share of what there is, too: a model that counts more tokens than estimated must not keep everything.
  const start = recentStart(clean, Math.min(size, estimateTokens(clean)) * recentShare);
  const brief = clean[0];
  const older = clean.slice(1, start);
  if (brief === undefined || brief.role !== "user" || older.length === 0) return null;
  const transcript = older.map(render).join("\n\n");
  return {
    request: {
      system: instructions,
      messages: [
        userMessage(
          `The brief:\n${middleCut(brief.content, tokens(size * briefShare))}\n\n` +
            `What followed:\n${middleCut(transcript, tokens(size * transcriptShare))}\n\nWrite the summary now.`,
        ),
      ],
    },
    apply: (summary) => [
      userMessage(middleCut(brief.content, tokens(size * briefShare))),
      userMessage(`${summaryHeading}\n${summary.trim()}`),
      ...clean.slice(start),
    ],
  };
}

const instructions = `You sum up the work of a coding agent so that it can go on without the full record.
Keep: what was asked, what was decided and why, what was done (files, commands, results), what failed, what is open, and
every exact name, path, number and quotation that will be needed. Leave out greetings and dead ends that teach nothing.
Write plain text under short headings. Do not continue the work and do not call tools.`;

/** The first of the latest messages that fit; never a tool result without its call, and never the whole. */
function recentStart(messages: readonly Message[], budget: number): number {
  let start = messages.length;
  let size = 0;
  for (let index = messages.length - 1; index > 0; index--) {
    const message = messages[index];
    if (message === undefined) break;
    size += estimateTokens([message]);
    if (size > budget) break;
    if (message.role !== "tool") start = index;
  }
  return start < messages.length ? start : lastStart(messages);
}

/** When even the last step is over the budget, it stays alone: the model must see what it just asked for. */
function lastStart(messages: readonly Message[]): number {
  const index = messages.findLastIndex((message) => message.role !== "tool");
  return Math.max(1, index);
}

function render(message: Message): string {
  if (message.role === "user") return `USER: ${message.content}`;
  if (message.role === "tool")
    return message.content
      .map((part) => `RESULT of ${part.toolName}: ${middleCut(part.output.value, 2000)}`)
      .join("\n");
  const said = message.content.filter((part) => part.type === "text").map((part) => part.text);
  const calls = toolCalls(message).map(
    (call) => `CALL ${call.toolName} ${middleCut(JSON.stringify(call.input) ?? "", 1000)}`,
  );
  return ["AGENT:", ...said, ...calls].join("\n");
}

/** Four characters a token. */
function tokens(count: number): number {
  return Math.floor(count * 4);
}

function middleCut(text: string, most: number): string {
  if (text.length <= most) return text;
  const side = Math.floor(most / 2);
  return `${text.slice(0, side)}\n[cut: ${text.length - 2 * side} characters]\n${text.slice(text.length - side)}`;
}
