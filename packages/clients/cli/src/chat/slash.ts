/** The slash commands of a chat. */
import type { Client } from "@aegis/client/client.ts";
import type { CommandOutcome } from "@aegis/contract/command.ts";
import type { ChatCommandName } from "@aegis/contract/command-names.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SkillFinding } from "@aegis/contract/skill-install.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { runTyped, sourceOf } from "../commands/session/slash-command.ts";
import { type InstallAttempt, withConsent } from "../commands/skill/install-consent.ts";
import { requirePerson } from "../commands/skill/override.ts";
import { synopsis } from "../format/command-table.ts";
import { eventLine } from "../format/event-line.ts";
import { SessionNames, sessionLabel } from "../format/session-names.ts";
import { sessionTable } from "../format/session-table.ts";
import { findingLines, outcomeLine } from "../format/skill-findings.ts";
import { oneLine, plainText } from "../format/text.ts";
import { usageError } from "../program/failure.ts";
import { type Chat, resolveSession } from "./chat.ts";

type SlashCommand = {
  synopsis: string;
  summary: string;
  run(chat: Chat, rest: string): Promise<"stay" | "leave">;
};

export const slashCommands: Readonly<Record<ChatCommandName, SlashCommand>> = {
  help: { synopsis: "/help", summary: "this list", run: help },
  sessions: { synopsis: "/sessions", summary: "the open sessions", run: sessions },
  switch: { synopsis: "/switch <session>", summary: "switch to another session", run: switchTo },
  spawn: { synopsis: "/spawn [agent]", summary: "start a session and switch to it", run: spawn },
  interrupt: { synopsis: "/interrupt", summary: "interrupt the current turn", run: interrupt },
  rename: { synopsis: "/rename <handle>", summary: "change this session's handle", run: rename },
  skill: { synopsis: "/skill <name> …", summary: "use a skill; /<name> … does the same", run: callSkill },
  install: { synopsis: "/install <skill>", summary: "install a skill, optionally from a source", run: install },
  title: { synopsis: "/title <text>", summary: "set this session's title", run: title },
  close: { synopsis: "/close", summary: "close this session", run: close },
  ask: { synopsis: "/ask [ask]", summary: "show an ask in full, page by page", run: ask },
  answer: {
    synopsis: "/answer [ask] <choice>",
    summary: "answer an ask of this session, or the named ask",
    run: answer,
  },
  history: { synopsis: "/history", summary: "show this session's history", run: history },
  quit: { synopsis: "/quit", summary: "exit; the session stays open", run: async () => "leave" },
};

/** Handles a line: a command or a message. A message that begins with a slash is written with two. */
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
    throw usageError(`there is no /${name}${didYouMean(name, known)}`, "/help lists the commands");
  }
  return "stay";
}

/** Every slash command except skills. */
async function completions(client: Client): Promise<string[]> {
  const { commands } = await client.call("listCommands");
  const ready = commands.filter(({ status }) => status === "ready").map(({ name }) => name);
  return [...Object.keys(slashCommands), ...ready].map((name) => `/${name}`);
}

function isBuiltIn(name: string): name is ChatCommandName {
  return Object.hasOwn(slashCommands, name);
}

/** Shows the output of a command, and sends the agent the prompt that the command returned. */
async function follow(chat: Chat, { command, text, prompt }: CommandOutcome): Promise<void> {
  if (text !== null) chat.out.text(`${plainText(text).trimEnd()}\n`);
  if (prompt !== null) await chat.say(prompt);
  if (text === null && prompt === null) chat.out.aside(chat.style.dim(`/${command} is done`));
}

/** The daemon resolves a skill by its name, so the chat only checks that the skill exists. */
async function isSkill(chat: Chat, name: string): Promise<boolean> {
  const { skills } = await chat.client.call("listSkills");
  return skills.some(({ command, user_invocable }) => user_invocable && command === name.toLowerCase());
}

/** True for a line that applies to the current turn and must not wait for its end. */
export function isForThisTurn(line: string): boolean {
  return /^\/(?:interrupt|answer|ask)\b/.test(line.trim());
}

async function help(chat: Chat): Promise<"stay"> {
  for (const { synopsis, summary } of Object.values(slashCommands)) {
    chat.out.aside(`  ${chat.style.cyan(synopsis.padEnd(24))}${summary}`);
  }
  chat.out.aside(`  ${chat.style.cyan("//text".padEnd(24))}send text that starts with a slash`);
  const { commands } = await chat.client.call("listCommands");
  for (const command of commands) {
    const about = command.status === "ready" ? command.description : `${command.status}: ${command.reason}`;
    const from = chat.style.dim(`(${sourceOf(command)})`);
    chat.out.aside(`  ${chat.style.cyan(synopsis(command).padEnd(23))} ${oneLine(about)} ${from}`);
  }
  return "stay";
}

async function sessions(chat: Chat): Promise<"stay"> {
  const answer = await chat.client.call("listSessions");
  const table = sessionTable(answer.sessions, { style: chat.style, columns: chat.width, now: Date.now() });
  for (const line of table) chat.out.aside(line);
  return "stay";
}

async function switchTo(chat: Chat, rest: string): Promise<"stay"> {
  if (rest === "") throw usageError("which session?", "/sessions lists them");
  const session = await resolveSession(chat.client, rest);
  chat.switchTo(session);
  chat.out.aside(chat.style.dim(`switched to ${sessionLabel(session)}`));
  return "stay";
}

async function spawn(chat: Chat, rest: string): Promise<"stay"> {
  const { session } = await chat.client.call("createSession", { body: rest === "" ? {} : { agent: rest } });
  chat.switchTo(session);
  chat.out.aside(chat.style.dim(`started ${sessionLabel(session)}, agent ${session.agent}`));
  return "stay";
}

async function interrupt(chat: Chat): Promise<"stay"> {
  const { interrupted } = await chat.client.call("interruptSession", { path: { session: chat.session.id } });
  if (!interrupted) chat.out.aside(chat.style.dim("no turn is running"));
  return "stay";
}

async function rename(chat: Chat, rest: string): Promise<"stay"> {
  if (rest === "") throw usageError("which handle?", "one to three words joined by dashes, as in lucid-knuth");
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
  chat.out.aside(chat.style.dim(session.title === "" ? "removed the title" : `title: ${session.title}`));
  return "stay";
}

/** Switches to the newest other session. Without one the chat ends. */
async function close(chat: Chat): Promise<"stay" | "leave"> {
  await chat.client.call("closeSession", { path: { session: chat.session.id } });
  chat.out.aside(chat.style.dim(`closed ${chat.session.handle}`));
  const [next] = (await chat.client.call("listSessions")).sessions;
  if (next === undefined) return "leave";
  return switchTo(chat, next.id);
}

async function ask(chat: Chat, rest: string): Promise<"stay"> {
  chat.asks.show(rest.replace(/^show\b\s*/, ""), chat.session.id);
  return "stay";
}

async function answer(chat: Chat, rest: string): Promise<"stay"> {
  await chat.asks.answer(rest, chat.session.id);
  return "stay";
}

async function history(chat: Chat): Promise<"stay"> {
  const { events } = await chat.client.call("history", { path: { session: chat.session.id }, query: { limit: 50 } });
  const names = new SessionNames([chat.session]);
  for (const event of events as Event[]) {
    const line = eventLine(event, { style: chat.style, width: chat.width, names });
    if (line !== null) chat.out.aside(line);
  }
  return "stay";
}

/**
 * Shows the findings. Installs a suspicious skill only if the user added `--yes`, and a malicious one only if the user
 * named each rule with `--override-malicious <rule>`.
 */
async function install(chat: Chat, rest: string): Promise<"stay"> {
  const { yes, override, words } = installWords(rest);
  const [skill, from] = words;
  if (skill === undefined) throw usageError("which skill?", "/install <skill> [source], as in /install pdf");
  const { client, out, style } = chat;
  out.aside(style.dim(`fetching ${from ?? skill} …`));
  const body = from === undefined ? { source: skill } : { source: from, name: skill };
  const show = (findings: readonly SkillFinding[]) => {
    for (const line of findingLines(findings, style)) out.aside(line);
  };
  const attempt: InstallAttempt = (consent) => client.call("installSkill", { body: { ...body, ...consent } });
  const result = await withConsent(attempt, {
    async accept({ findings }) {
      show(findings);
      return yes;
    },
    async override({ findings }) {
      show(findings);
      if (override.length > 0) requirePerson(chat.env);
      return override;
    },
  });
  out.aside(outcomeLine(result, style));
  if (result.outcome === "consent") out.aside(style.yellow(`  /install ${rest} --yes installs it anyway`));
  return "stay";
}

function installWords(rest: string): { yes: boolean; override: string[]; words: string[] } {
  const [words, override]: [string[], string[]] = [[], []];
  let yes = false;
  let isRule = false;
  for (const word of rest.split(/\s+/).filter((one) => one !== "")) {
    if (isRule) override.push(word);
    else if (word === "--yes") yes = true;
    else if (word !== "--override-malicious") words.push(word);
    isRule = !isRule && word === "--override-malicious";
  }
  return { yes, override, words };
}
