/** What can be typed in a chat besides messages. */
import type { Client } from "../../client/client.ts";
import type { CommandOutcome } from "../../contract/command.ts";
import type { ChatCommandName } from "../../contract/command-names.ts";
import type { Event } from "../../contract/event.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { answerAsk, choicesOf } from "../asks.ts";
import { usageError } from "../failure.ts";
import { synopsis } from "../format/command-table.ts";
import { eventLine } from "../format/event-line.ts";
import { sessionTable } from "../format/session-table.ts";
import { oneLine, plainText } from "../format/text.ts";
import { SessionNames, sessionLabel } from "../session-names.ts";
import { runTyped, sourceOf } from "../slash-command.ts";
import { type Chat, resolveSession } from "./chat.ts";
import { install } from "./install.ts";

type SlashCommand = { synopsis: string; summary: string; run(chat: Chat, rest: string): Promise<"stay" | "leave"> };

export const slashCommands: Readonly<Record<ChatCommandName, SlashCommand>> = {
  help: { synopsis: "/help", summary: "this list", run: help },
  sessions: { synopsis: "/sessions", summary: "the open sessions", run: sessions },
  switch: { synopsis: "/switch <session>", summary: "talk to another session", run: switchTo },
  spawn: { synopsis: "/spawn [agent]", summary: "start a session and talk to it", run: spawn },
  interrupt: { synopsis: "/interrupt", summary: "cut the turn under way (also Ctrl-C)", run: interrupt },
  rename: { synopsis: "/rename <handle>", summary: "give this session another handle", run: rename },
  skill: { synopsis: "/skill <name> …", summary: "have a skill used; /<name> … does the same", run: callSkill },
  install: { synopsis: "/install <skill>", summary: "install a skill; a source may follow", run: install },
  title: { synopsis: "/title <text>", summary: "set this session's title", run: title },
  close: { synopsis: "/close", summary: "close this session", run: close },
  answer: { synopsis: "/answer <choice>", summary: "answer what an agent asks; a reason may follow", run: answer },
  history: { synopsis: "/history", summary: "what was said here", run: history },
  quit: { synopsis: "/quit", summary: "leave; the session stays (also Ctrl-D)", run: async () => "leave" },
};

/** Handles a typed line: a command, or a message. A message that starts with a slash is typed with two. */
export async function handleLine(chat: Chat, line: string): Promise<"stay" | "leave"> {
  const text = line.trim();
  if (text === "") return "stay";
  if (!text.startsWith("/") || text.startsWith("//")) {
    await chat.say(text.startsWith("//") ? text.slice(1) : line);
    return "stay";
  }
  const [name = "", ...words] = text.slice(1).split(/\s+/);
  if (isBuiltIn(name)) return slashCommands[name].run(chat, words.join(" "));
  const outcome = await runTyped(chat.client, text, chat.session.id);
  if (outcome !== null) await follow(chat, outcome);
  else if (await isSkill(chat, name)) await chat.say(text);
  else {
    const known = (await completions(chat.client)).map((one) => one.slice(1));
    throw usageError(`there is no /${name}${didYouMean(name, known)}`, "/help lists what there is");
  }
  return "stay";
}

/** What a line could become, and the line itself. A key press is no place to complain. */
export async function completeLine(client: Client, line: string): Promise<[string[], string]> {
  if (!/^\/\S*$/.test(line)) return [[], line];
  const all = await completions(client).catch(() => []);
  return [all.filter((name) => name.startsWith(line)), line];
}

/** Everything that can be typed after a slash, but for skills. */
async function completions(client: Client): Promise<string[]> {
  const { commands } = await client.call("listCommands");
  const ready = commands.filter(({ status }) => status === "ready").map(({ name }) => name);
  return [...Object.keys(slashCommands), ...ready].map((name) => `/${name}`);
}

function isBuiltIn(name: string): name is ChatCommandName {
  return Object.hasOwn(slashCommands, name);
}

/** Shows what a command answered, and says to the agent what it wants said. */
async function follow(chat: Chat, { command, text, prompt }: CommandOutcome): Promise<void> {
  if (text !== null) chat.screen.text(`${plainText(text).trimEnd()}\n`);
  if (prompt !== null) await chat.say(prompt);
  if (text === null && prompt === null) chat.screen.line(chat.style.dim(`/${command} is done`));
}

/** A skill is called by its name, and the daemon knows what to do with it. */
async function isSkill(chat: Chat, name: string): Promise<boolean> {
  const { skills } = await chat.client.call("listSkills");
  return skills.some(({ command, user_invocable }) => user_invocable && command === name.toLowerCase());
}

/** True for a line that is meant for the turn under way and must not wait for its end. */
export function isForThisTurn(line: string): boolean {
  return /^\/(?:interrupt|answer)\b/.test(line.trim());
}

async function help(chat: Chat): Promise<"stay"> {
  for (const { synopsis, summary } of Object.values(slashCommands)) {
    chat.screen.line(`  ${chat.style.cyan(synopsis.padEnd(20))}${summary}`);
  }
  chat.screen.line(`  ${chat.style.cyan("//text".padEnd(20))}send text that starts with a slash`);
  const { commands } = await chat.client.call("listCommands");
  for (const command of commands) {
    const about = command.status === "ready" ? command.description : `${command.status}: ${command.reason}`;
    const from = chat.style.dim(`(${sourceOf(command)})`);
    chat.screen.line(`  ${chat.style.cyan(synopsis(command).padEnd(19))} ${oneLine(about)} ${from}`);
  }
  return "stay";
}

async function sessions(chat: Chat): Promise<"stay"> {
  const answer = await chat.client.call("listSessions");
  const table = sessionTable(answer.sessions, {
    color: chat.style.dim("x") !== "x",
    width: chat.width,
    now: Date.now(),
  });
  for (const line of table) chat.screen.line(line);
  return "stay";
}

async function switchTo(chat: Chat, rest: string): Promise<"stay"> {
  if (rest === "") throw usageError("which session?", "/sessions lists them");
  const session = await resolveSession(chat.client, rest);
  chat.switchTo(session);
  chat.screen.line(chat.style.dim(`you talk to ${sessionLabel(session)} now`));
  return "stay";
}

async function spawn(chat: Chat, rest: string): Promise<"stay"> {
  const { session } = await chat.client.call("createSession", { body: rest === "" ? {} : { agent: rest } });
  chat.switchTo(session);
  chat.screen.line(chat.style.dim(`started ${sessionLabel(session)}, agent ${session.agent}`));
  return "stay";
}

async function interrupt(chat: Chat): Promise<"stay"> {
  const { interrupted } = await chat.client.call("interruptSession", { path: { session: chat.session.id } });
  if (!interrupted) chat.screen.line(chat.style.dim("there is no turn under way"));
  return "stay";
}

async function rename(chat: Chat, rest: string): Promise<"stay"> {
  if (rest === "") throw usageError("which handle?", "two or three words joined by dashes, as in lucid-knuth");
  await chat.client.call("updateSession", { path: { session: chat.session.id }, body: { handle: rest } });
  return "stay";
}

async function callSkill(chat: Chat, rest: string): Promise<"stay"> {
  if (rest === "") throw usageError("which skill?", "aegis skill list shows them");
  await chat.say(`/skill ${rest}`);
  return "stay";
}

async function title(chat: Chat, rest: string): Promise<"stay"> {
  const { session } = await chat.client.call("updateSession", {
    path: { session: chat.session.id },
    body: { title: rest },
  });
  chat.screen.line(chat.style.dim(session.title === "" ? "the title is gone" : `title: ${session.title}`));
  return "stay";
}

/** Goes on with the newest other session; without one there is nothing left to chat with. */
async function close(chat: Chat): Promise<"stay" | "leave"> {
  await chat.client.call("closeSession", { path: { session: chat.session.id } });
  chat.screen.line(chat.style.dim(`closed ${chat.session.handle}`));
  const [next] = (await chat.client.call("listSessions")).sessions;
  if (next === undefined) return "leave";
  return switchTo(chat, next.id);
}

async function answer(chat: Chat, rest: string): Promise<"stay"> {
  const { ask } = chat;
  if (ask === undefined) throw usageError("nobody waits for an answer");
  if (rest === "") throw usageError("which answer?", choicesOf(ask));
  await answerAsk(chat.client, ask, rest);
  return "stay";
}

async function history(chat: Chat): Promise<"stay"> {
  const { events } = await chat.client.call("history", { path: { session: chat.session.id }, query: { limit: 50 } });
  const names = new SessionNames([chat.session]);
  for (const event of events as Event[]) {
    const line = eventLine(event, { style: chat.style, width: chat.width, names });
    if (line !== null) chat.screen.line(line);
  }
  return "stay";
}
