/** Commands about asks. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const group = "Sessions:";

export const askCommands = {
  asks: command({
    path: "asks",
    group,
    summary: "List what agents ask a person",
    options: { all: option.flag("-a, --all", "include asks that have ended, and how they ended") },
    examples: ["aegis asks", "aegis asks --all"],
    run: (cx, args): Exit => import("./ask.ts").then((it) => it.asks(cx, args)),
  }),
  show: command({
    path: "ask show",
    summary: "Show an ask in full: command, changes, reason and origin",
    arguments: { ask: argument("<ask>", "an ask's id or the end of it, or the session that asks", "session") },
    examples: ["aegis ask show lucid-knuth", "aegis ask show 7qk2mz --json"],
    run: (cx, args): Exit => import("./ask.ts").then((it) => it.show(cx, args)),
  }),
  answer: command({
    path: "answer",
    group,
    summary: "Answer an agent's question",
    arguments: {
      ask: argument(
        "[ask]",
        "an ask's id or the end of it, or the session that asks; optional if only one ask is open",
        "session",
      ),
      answer: argument("[answer...]", "one of its choices, optionally followed by a reason, or free text", [
        "allow",
        "always",
        "deny",
      ]),
    },
    options: { digest: option.text("--digest <digest>", "refuse to answer unless the ask has this digest") },
    examples: ["aegis answer 7qk2mz allow", "aegis answer lucid-knuth deny not on a Friday"],
    run: (cx, args): Exit => import("./ask.ts").then((it) => it.answer(cx, args)),
  }),
};
