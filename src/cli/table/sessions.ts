/** Commands about sessions and their messages. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../spec.ts";

const group = "Sessions:";
const session: ArgumentSpec = { synopsis: "<session>", description: "a session's handle or id", complete: "session" };
const agentOption: OptionSpec = {
  flags: "--agent <name>",
  description: "the agent to use instead of the default",
  complete: "agent",
};
const waitLimit: OptionSpec = {
  flags: "--timeout <time>",
  description: "interrupt the turn after this time, as in 90s or 10m",
  value: "duration",
};

const imageOption: OptionSpec = {
  flags: "--image <file>",
  description: "an image the agent sees with the text; may be given several times",
  value: "list",
  complete: "file",
};

export const sessionCommands: readonly CommandSpec[] = [
  {
    path: "run",
    group,
    summary: "One prompt, one answer, in a session of its own",
    arguments: [
      {
        synopsis: "[prompt]",
        description: "what to do, or a /command; - or a pipe reads it from standard input",
        complete: "command",
      },
    ],
    options: [
      agentOption,
      waitLimit,
      imageOption,
      { flags: "--keep", description: "keep the session to go on with it" },
      { flags: "--no-ask", description: "deny at once whatever the agent would ask a person" },
      { flags: "-y, --yes", description: "agree to what this folder's files would run" },
    ],
    examples: ['aegis run "list the files here"', "git diff | aegis run --timeout 5m", 'aegis run "say hi" --json'],
    run: async (cx, input) =>
      (await import("../commands/run.ts")).run(cx, {
        prompt: input.text("prompt"),
        agent: input.text("agent"),
        timeoutMs: input.number("timeout"),
        images: input.list("image"),
        keep: input.flag("keep"),
        yes: input.flag("yes"),
        noAsk: !input.flag("ask"),
      }),
  },
  {
    path: "chat",
    group,
    summary: "Talk to a session, or to a new one",
    arguments: [{ ...session, synopsis: "[session]" }],
    options: [agentOption],
    examples: ["aegis chat", "aegis chat lucid-knuth", "aegis chat --agent reviewer"],
    run: async (cx, input) =>
      (await import("../commands/chat.ts")).chat(cx, { session: input.text("session"), agent: input.text("agent") }),
  },
  {
    path: "spawn",
    group,
    summary: "Start a session",
    arguments: [{ synopsis: "[agent]", description: "an agent's name; the default one if absent", complete: "agent" }],
    options: [
      { flags: "--handle <handle>", description: "its handle, as in lucid-knuth" },
      { flags: "--title <text>", description: "its title" },
      { flags: "-m, --message <prompt>", description: "a first message" },
    ],
    examples: ['aegis spawn reviewer -m "review the last commit"'],
    run: async (cx, input) =>
      (await import("../commands/sessions.ts")).spawn(cx, {
        agent: input.text("agent"),
        handle: input.text("handle"),
        title: input.text("title"),
        prompt: input.text("message"),
      }),
  },
  {
    path: "send",
    group,
    summary: "Put a message into a session's inbox",
    arguments: [
      session,
      { synopsis: "[text]", description: "the message, or a /command; - or a pipe reads it", complete: "command" },
    ],
    options: [
      { flags: "--interrupt", description: "cut the turn under way and deliver at once" },
      { flags: "--steer", description: "join the turn under way where the harness can, else wait for its end" },
      imageOption,
      { flags: "--wait", description: "wait for the answer and show it" },
      { ...waitLimit, description: "with --wait: interrupt the turn after this time" },
      { flags: "--id <message>", description: "the message's id (msg_…): sent twice, it arrives once" },
    ],
    examples: [
      'aegis send lucid-knuth "and the tests?"',
      "aegis send lucid-knuth --wait - < notes.md",
      'aegis send lucid-knuth --steer "leave the parser alone"',
      'aegis send lucid-knuth --image shot.png "why is this button cut off?"',
    ],
    run: async (cx, input) =>
      (await import("../commands/send.ts")).send(cx, {
        session: input.required("session"),
        text: input.text("text"),
        mode: input.flag("interrupt") ? "interrupt" : input.flag("steer") ? "steer" : "queue",
        images: input.list("image"),
        wait: input.flag("wait"),
        timeoutMs: input.number("timeout"),
        id: input.text("id"),
      }),
  },
  {
    path: "fork",
    group,
    summary: "Start another session that begins with what this one remembers",
    arguments: [session],
    options: [
      { flags: "--handle <handle>", description: "the handle of the new session" },
      { flags: "--title <text>", description: "its title" },
      { flags: "-m, --message <prompt>", description: "a first message" },
    ],
    examples: ["aegis fork lucid-knuth", 'aegis fork lucid-knuth -m "now try it with a queue instead"'],
    run: async (cx, input) =>
      (await import("../commands/sessions.ts")).fork(cx, {
        session: input.required("session"),
        handle: input.text("handle"),
        title: input.text("title"),
        prompt: input.text("message"),
      }),
  },
  {
    path: "ps",
    group,
    summary: "List sessions",
    options: [{ flags: "-a, --all", description: "closed ones too" }],
    examples: ["aegis ps", "aegis ps --all --json"],
    run: async (cx, input) => (await import("../commands/sessions.ts")).ps(cx, { all: input.flag("all") }),
  },
  {
    path: "agents",
    group,
    summary: "List the agents, and the harnesses found on this machine",
    examples: ["aegis agents"],
    run: async (cx) => (await import("../commands/agents.ts")).agents(cx),
  },
  {
    path: "tail",
    group,
    summary: "Print events as they happen, one line each",
    arguments: [{ ...session, synopsis: "[session]" }],
    options: [{ flags: "--after <seq>", description: "begin after this event number", value: "count" }],
    examples: ["aegis tail", "aegis tail lucid-knuth --after 0 --json"],
    run: async (cx, input) =>
      (await import("../commands/history.ts")).tail(cx, {
        session: input.text("session"),
        after: input.number("after"),
      }),
  },
  {
    path: "history",
    group,
    summary: "Show what happened in a session",
    arguments: [session],
    options: [{ flags: "-n, --limit <count>", description: "how many events (default 50)", value: "count" }],
    examples: ["aegis history lucid-knuth", "aegis history lucid-knuth -n 500"],
    run: async (cx, input) =>
      (await import("../commands/history.ts")).history(cx, {
        session: input.required("session"),
        limit: input.number("limit"),
      }),
  },
  {
    path: "close",
    group,
    summary: "Close sessions: their turns are cut, their waiting messages refused",
    arguments: [{ ...session, synopsis: "<session...>", description: "handles or ids" }],
    examples: ["aegis close lucid-knuth brave-hopper"],
    run: async (cx, input) => (await import("../commands/sessions.ts")).close(cx, { sessions: input.list("session") }),
  },
  {
    path: "interrupt",
    group,
    summary: "Cut the turn under way; waiting messages become the next one",
    arguments: [session],
    examples: ["aegis interrupt lucid-knuth"],
    run: async (cx, input) =>
      (await import("../commands/sessions.ts")).interrupt(cx, { session: input.required("session") }),
  },
  {
    path: "rename",
    group,
    summary: "Give a session another handle",
    arguments: [session, { synopsis: "<handle>", description: "two or three words joined by dashes" }],
    examples: ["aegis rename lucid-knuth parser-work"],
    run: async (cx, input) =>
      (await import("../commands/sessions.ts")).rename(cx, {
        session: input.required("session"),
        handle: input.required("handle"),
      }),
  },
  {
    path: "title",
    group,
    summary: "Set a session's title",
    arguments: [session, { synopsis: "<text>", description: 'the title; "" removes it' }],
    examples: ['aegis title lucid-knuth "the new parser"'],
    run: async (cx, input) =>
      (await import("../commands/sessions.ts")).title(cx, {
        session: input.required("session"),
        title: input.required("text"),
      }),
  },
  {
    path: "cancel",
    group,
    summary: "Take back a message that no turn has taken yet",
    arguments: [{ synopsis: "<message>", description: "a message's id (msg_…)" }],
    examples: ["aegis cancel msg_01k5x0000000000000000000ab"],
    run: async (cx, input) =>
      (await import("../commands/sessions.ts")).cancel(cx, { message: input.required("message") }),
  },
  {
    path: "asks",
    group,
    summary: "List what agents wait for a person to say",
    examples: ["aegis asks"],
    run: async (cx) => (await import("../commands/asks.ts")).asks(cx),
  },
  {
    path: "answer",
    group,
    summary: "Answer what an agent asks",
    arguments: [
      { synopsis: "<ask>", description: "an ask's id, or the session that asks", complete: "session" },
      {
        synopsis: "<answer...>",
        description: "one of its choices, which may be followed by a reason, or text",
        complete: ["allow", "always", "deny"],
      },
    ],
    examples: ["aegis answer lucid-knuth allow", "aegis answer lucid-knuth deny not on a Friday"],
    run: async (cx, input) =>
      (await import("../commands/asks.ts")).answer(cx, {
        ask: input.required("ask"),
        answer: input.list("answer").join(" "),
      }),
  },
];
