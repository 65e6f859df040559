/** Commands about sessions and their messages. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const group = "Sessions:";
const agent = option.text("--agent <name>", "the agent to use instead of the default", "agent");
const images = option.list("--image <file>", "attach an image; repeatable", {
  complete: "file",
});
const optionalSession = argument("[session]", "a session's handle or id", "session");
const title = option.text("--title <text>", "its title");
const prompt = option.text("-m, --message <prompt>", "a first message");
const session = argument("<session>", "a session's handle or id", "session");

export const sessionCommands = {
  run: command({
    path: "run",
    group,
    summary: "Send one prompt in a new session and print the answer",
    arguments: {
      prompt: argument("[prompt]", "the prompt or a /command; reads standard input with - or from a pipe", "command"),
    },
    options: {
      agent,
      timeoutMs: option.duration("--timeout <time>", "interrupt the turn after this time, as in 90s or 10m"),
      images,
      keep: option.flag("--keep", "keep the session open"),
      noAsk: option.flag("--no-ask", "deny everything the agent would ask a person"),
      yes: option.flag("-y, --yes", "trust what this folder's files would run"),
    },
    examples: ['aegis run "list the files here"', "git diff | aegis run --timeout 5m", 'aegis run "say hi" --json'],
    run: (cx, args): Exit => import("./run.ts").then((it) => it.run(cx, args)),
  }),
  chat: command({
    path: "chat",
    group,
    summary: "Chat with a session, or with a new one",
    arguments: { session: optionalSession },
    options: { agent },
    examples: ["aegis chat", "aegis chat lucid-knuth", "aegis chat --agent reviewer"],
    notes: [
      "On a terminal it opens the session in the terminal app and leaves the last answers in the scrollback.",
      "Elsewhere each line of input is a message or a /command and waits for the answer to the line before;",
      "/help lists the commands.",
    ],
    run: (cx, args): Exit => import("./chat.ts").then((it) => it.chat(cx, args)),
  }),
  spawn: command({
    path: "spawn",
    group,
    summary: "Start a session",
    arguments: { agent: argument("[agent]", "an agent's name; the default agent if omitted", "agent") },
    options: {
      handle: option.text("--handle <handle>", "its handle, as in lucid-knuth"),
      title,
      prompt,
      worktree: option.flag("--worktree", "let it work in its own git worktree"),
      nodes: option.list("--nodes <labels...>", "labels that its node of the cluster must have, or a node's name"),
      base: option.text("--base <ref>", "what the worktree starts from: a branch, a tag, a commit, or dirty"),
    },
    examples: ['aegis spawn reviewer -m "review the last commit"', "aegis spawn dev --worktree --base main"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.spawn(cx, args)),
  }),
  send: command({
    path: "send",
    group,
    summary: "Send a message to a session",
    arguments: {
      session,
      text: argument("[text]", "the message or a /command; reads standard input with - or from a pipe", "command"),
    },
    options: {
      interrupt: option.flag("--interrupt", "interrupt the current turn and deliver immediately"),
      steer: option.flag("--steer", "add the message to the current turn if the harness supports it, otherwise wait"),
      images,
      wait: option.flag("--wait", "wait for the answer and show it"),
      timeoutMs: option.duration("--timeout <time>", "with --wait: interrupt the turn after this time"),
      noAsk: option.flag("--no-ask", "with --wait: deny what the turn asks, and do not wait for another ask"),
      id: option.text("--id <message>", "an idempotency key: the message's id (msg_…)"),
    },
    examples: [
      'aegis send lucid-knuth "and the tests?"',
      "aegis send lucid-knuth --wait - < notes.md",
      'aegis send lucid-knuth --steer "leave the parser alone"',
      'aegis send lucid-knuth --image shot.png "why is this button cut off?"',
    ],
    run: (cx, args): Exit => import("./send.ts").then((it) => it.send(cx, args)),
  }),
  fork: command({
    path: "fork",
    group,
    summary: "Start a session with a copy of this session's conversation",
    arguments: { session },
    options: { handle: option.text("--handle <handle>", "the handle of the new session"), title, prompt },
    examples: ["aegis fork lucid-knuth", 'aegis fork lucid-knuth -m "now try it with a queue instead"'],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.fork(cx, args)),
  }),
  ps: command({
    path: "ps",
    group,
    summary: "List sessions",
    options: {
      all: option.flag("-a, --all", "include closed sessions"),
      allProjects: option.flag(
        "--all-projects",
        "list the sessions of every project with a running daemon; starts no daemon",
      ),
    },
    examples: ["aegis ps", "aegis ps --all --json", "aegis ps --all-projects"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.ps(cx, args)),
  }),
  agents: command({
    path: "agents",
    group,
    summary: "List the agents, and the harnesses found on this machine",
    examples: ["aegis agents"],
    run: (cx, args): Exit => import("../agent/agent.ts").then((it) => it.agents(cx, args)),
  }),
  tail: command({
    path: "tail",
    group,
    summary: "Print events as they happen, one line each",
    arguments: { session: optionalSession },
    options: { after: option.count("--after <seq>", "start after this event number") },
    examples: ["aegis tail", "aegis tail lucid-knuth --after 0 --json"],
    run: (cx, args): Exit => import("./history.ts").then((it) => it.tail(cx, args)),
  }),
  history: command({
    path: "history",
    group,
    summary: "Show a session's events",
    arguments: { session },
    options: {
      limit: option.count("-n, --limit <count>", "how many events (default 50; with --full all of them)"),
      full: option.flag("--full", "print complete texts and tool results instead of one line per event"),
      turn: option.text("--turn <turn>", "print the complete answer of one turn: last, its number, or its id"),
    },
    examples: [
      "aegis history lucid-knuth",
      "aegis history lucid-knuth -n 500",
      "aegis history lucid-knuth --full",
      "aegis history lucid-knuth --turn last",
    ],
    run: (cx, args): Exit => import("./history.ts").then((it) => it.history(cx, args)),
  }),
  changes: command({
    path: "changes",
    group,
    summary: "Show which files a session changed, with the diff",
    arguments: { session },
    options: {
      turn: option.text("--turn <turn>", "only one turn: last, its number, or its id"),
      stat: option.flag("--stat", "list the files without the diff"),
      patch: option.flag("--patch", "list the files with the diff (the default)"),
    },
    examples: [
      "aegis changes lucid-knuth",
      "aegis changes lucid-knuth --turn last --stat",
      "aegis changes lucid-knuth --json",
    ],
    run: (cx, args): Exit => import("./changes.ts").then((it) => it.changes(cx, args)),
  }),
  why: command({
    path: "why",
    group,
    summary: "Show what caused a message, back to the person or the schedule it began with",
    arguments: { message: argument("<message>", "a message's id (msg_…), or a session for its newest message") },
    examples: ["aegis why lucid-knuth", "aegis why msg_01k5x0000000000000000000ab"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.why(cx, args)),
  }),
  close: command({
    path: "close",
    group,
    summary: "Close sessions: stop their turns and refuse their pending messages",
    arguments: { sessions: argument("<session...>", "handles or ids", "session") },
    examples: ["aegis close lucid-knuth brave-hopper"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.close(cx, args)),
  }),
  interrupt: command({
    path: "interrupt",
    group,
    summary: "Interrupt the current turn; pending messages form the next one",
    arguments: { session },
    examples: ["aegis interrupt lucid-knuth"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.interrupt(cx, args)),
  }),
  rename: command({
    path: "rename",
    group,
    summary: "Change a session's handle",
    arguments: { session, handle: argument("<handle>", "one to three words joined by dashes") },
    examples: ["aegis rename lucid-knuth parser-work"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.rename(cx, args)),
  }),
  title: command({
    path: "title",
    group,
    summary: "Set a session's title",
    arguments: { session, title: argument("<text>", 'the title; "" removes it') },
    examples: ['aegis title lucid-knuth "the new parser"'],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.title(cx, args)),
  }),
  cancel: command({
    path: "cancel",
    group,
    summary: "Cancel a message that is still pending",
    arguments: { message: argument("<message>", "a message's id (msg_…)") },
    examples: ["aegis cancel msg_01k5x0000000000000000000ab"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.cancel(cx, args)),
  }),
};

export const subagentCommands = {
  tree: command({
    path: "tree",
    group,
    summary: "Show sessions with the subagents below them",
    arguments: { session: argument("[session]", "show only this session and its subagents", "session") },
    options: { all: option.flag("-a, --all", "include closed sessions and archived subagents") },
    examples: ["aegis tree", "aegis tree lucid-knuth --all", "aegis tree --json"],
    run: (cx, args): Exit => import("./tree.ts").then((it) => it.tree(cx, args)),
  }),
  kill: command({
    path: "kill",
    group,
    summary: "Stop a subagent and all of its subagents",
    arguments: { run: argument("<run>", "the run's id, as shown by aegis tree") },
    examples: ["aegis kill 3f9a1c0b7e2d"],
    run: (cx, args): Exit => import("./tree.ts").then((it) => it.kill(cx, args)),
  }),
  pool: command({
    path: "pool",
    group,
    summary: "List the idle agents in the pool",
    examples: ["aegis pool", "aegis pool --json"],
    run: (cx, args): Exit => import("./sessions.ts").then((it) => it.pool(cx, args)),
  }),
};
