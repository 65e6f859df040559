/** Slash commands that are typed into the editor. */
import type { ChatCommandName } from "@aegis/contract/command-names.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { newSession } from "./actions/global.ts";
import type { App } from "./app-api.ts";
import type { CommandItem } from "./complete.ts";

type Own = { about: string; run(app: App, rest: string, session: SessionId): unknown };

/** The commands of `aegis chat` that the screens do not offer better. */
const own: Partial<Record<ChatCommandName, Own>> = {
  help: { about: "the keys of this screen", run: (app) => app.help() },
  sessions: { about: "the team", run: (app) => app.show("team") },
  switch: {
    about: "switch to another session",
    async run(app, rest) {
      const { session } = await app.client.call("getSession", { path: { session: rest } });
      app.openSession(session.id);
    },
  },
  spawn: {
    about: "start a session of an agent",
    async run(app, rest) {
      if (rest === "") return newSession(app);
      const { session } = await app.client.call("createSession", { body: { agent: rest } });
      app.openSession(session.id);
    },
  },
  interrupt: {
    about: "interrupt the current turn",
    run: (app, _, session) => app.client.call("interruptSession", { path: { session } }),
  },
  rename: {
    about: "change this session's handle",
    run: (app, handle, session) => app.client.call("updateSession", { path: { session }, body: { handle } }),
  },
  title: {
    about: "set this session's title",
    run: (app, title, session) => app.client.call("updateSession", { path: { session }, body: { title } }),
  },
  close: {
    about: "close this session",
    run: (app, _, session) => app.client.call("closeSession", { path: { session } }),
  },
  install: { about: "install a skill, optionally from a source", run: (app, rest) => install(app, rest) },
  ask: { about: "show what agents ask", run: (app) => app.show("needs") },
  answer: { about: "answer what agents ask", run: (app) => app.show("needs") },
  quit: { about: "leave the app", run: (app) => app.leave() },
};

/** Installs a skill without findings. What needs consent is shown whole; the command line installs it. */
async function install(app: App, rest: string): Promise<void> {
  const [skill = "", from] = rest.split(/\s+/);
  if (skill === "") throw new RangeError("which skill? /install <skill> [source]");
  const body = from === undefined ? { source: skill } : { source: from, name: skill };
  const result = await app.client.call("installSkill", { body });
  if (result.outcome !== "consent") return app.flash(`${result.outcome} ${result.skill.name}`);
  const found = result.skill.findings.flatMap(({ severity, rule, file, line, message, excerpt }) => [
    `${severity} ${file ?? ""}${line === null ? "" : `:${line}`} ${message} (${rule})`,
    ...(excerpt === "" ? [] : [`  ${excerpt}`]),
  ]);
  const source = from === undefined ? skill : `${skill} --from ${from}`;
  app.text(
    `${result.skill.name} is not installed`,
    [...found, "", `To install it anyway: aegis skill install ${source}`].join("\n"),
  );
}

export async function slashCommands(app: Pick<App, "client">): Promise<CommandItem[]> {
  const [{ commands }, { skills }] = await Promise.all([
    app.client.call("listCommands"),
    app.client.call("listSkills"),
  ]);
  return [
    ...Object.entries(own).map(([name, { about }]) => ({ name, about })),
    ...commands
      .filter(({ status }) => status === "ready")
      .map(({ name, description }) => ({ name, about: description })),
    ...skills.flatMap(({ command, description, user_invocable }) =>
      user_invocable && command !== null ? [{ name: command, about: description }] : [],
    ),
  ];
}

/** Runs a typed command. Returns the text to send to the agent instead, or null. */
export async function runSlash(app: App, text: string, session: SessionId): Promise<string | null> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  const command = (own as Readonly<Record<string, Own>>)[name];
  if (command !== undefined) {
    await command.run(app, rest.trim(), session);
    return null;
  }
  const known = await slashCommands(app);
  if (!known.some((one) => one.name === name) && name !== "skill")
    throw new RangeError(
      `there is no /${name}${didYouMean(
        name,
        known.map((one) => one.name),
      )}`,
    );
  const { commands } = await app.client.call("listCommands");
  if (!commands.some((one) => one.name === name && one.status === "ready")) return text;
  const outcome = await app.client.call("runCommand", { path: { command: name }, body: { arguments: rest, session } });
  if (outcome.text !== null) app.text(`/${name}`, outcome.text);
  return outcome.prompt;
}
