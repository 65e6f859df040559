/** `aegis chat`: talk to a session from a terminal, or line by line through a pipe. */
import { createInterface } from "node:readline";
import type { Client } from "../../client/client.ts";
import type { SessionView } from "../../contract/session.ts";
import { lines } from "../../lib/jsonl.ts";
import { Chat, complain, resolveSession } from "../chat/chat.ts";
import { plainScreen, type Screen, TerminalScreen } from "../chat/screen.ts";
import { completeLine, handleLine, isForThisTurn } from "../chat/slash.ts";
import { type Connection, ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { createStyle } from "../format/style.ts";
import { sessionLabel } from "../session-names.ts";
import type { Terminal } from "../terminal.ts";

export type ChatArgs = { session: string | undefined; agent: string | undefined };

/** Two presses of Ctrl-C within this time leave. */
const leaveWithinMs = 2_000;

export async function chat(cx: Terminal, args: ChatArgs): Promise<number> {
  if (cx.json) throw usageError("chat is for people", "for scripts: aegis run --json, aegis send --wait --json");
  if (args.session !== undefined && args.agent !== undefined) {
    throw usageError("a session has its agent already", "give a session or --agent, not both");
  }
  return chatWith(cx, await ensureDaemon(cx), args);
}

export async function chatWith(cx: Terminal, { client }: Connection, args: ChatArgs): Promise<number> {
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 } });
  const known = (await client.call("listSessions", { query: { closed: true } })).sessions;
  const { asks } = await client.call("listAsks");
  const session = await openSession(client, args);
  const following = new AbortController();
  const build = (screen: Screen) => {
    const options = { client, screen, style: createStyle(cx.color), width: cx.columns };
    const conversation = new Chat(options, session, known);
    for (const ask of asks) conversation.showAsk(ask);
    const followed = conversation.follow(after, following.signal).catch((error: unknown) => {
      conversation.abandon();
      complain(conversation, error);
    });
    return { conversation, followed };
  };
  const { conversation, followed } = cx.interactive ? await typed(cx, client, build) : await piped(cx, build);
  following.abort();
  await followed;
  await leave(cx, client, conversation, args.session === undefined ? session : null);
  return exitCodes.ok;
}

type Built = { conversation: Chat; followed: Promise<void> };

function openSession(client: Client, args: ChatArgs): Promise<SessionView> {
  if (args.session !== undefined) return resolveSession(client, args.session);
  const body = args.agent === undefined ? {} : { agent: args.agent };
  return client.call("createSession", { body }).then((answer) => answer.session);
}

async function typed(cx: Terminal, client: Client, build: (screen: Screen) => Built): Promise<Built> {
  const completer = (line: string, done: Completed) =>
    void completeLine(client, line).then((found) => done(null, found));
  const input = createInterface({ input: cx.stdin, output: cx.stdout, terminal: true, completer });
  const screen = new TerminalScreen(cx, input);
  const style = createStyle(cx.color);
  const built = build(screen);
  const { conversation } = built;
  const { session } = conversation;
  screen.line(style.dim(`You talk to ${sessionLabel(session)}, agent ${session.agent}. /help lists commands.`));
  const left = Promise.withResolvers<void>();
  const onKey = () => screen.keyPressed();
  const onTerminate = cx.onStop((signal) => signal !== "SIGINT" && left.resolve());
  let lastInterrupt = 0;
  cx.stdin.on("keypress", onKey);
  input.on("close", () => left.resolve());
  input.on("SIGINT", () => {
    if (conversation.working) {
      void handleLine(conversation, "/interrupt").catch((error: unknown) => complain(conversation, error));
      return;
    }
    const now = Date.now();
    if (now - lastInterrupt < leaveWithinMs) left.resolve();
    else screen.line(style.dim("press Ctrl-C again to leave"));
    lastInterrupt = now;
  });
  // One after the other, so that what is typed after a command meets its effect.
  let turn = Promise.resolve();
  input.on("line", (line) => {
    screen.lineTaken();
    turn = turn.then(async () => {
      try {
        if ((await handleLine(conversation, line)) === "leave") left.resolve();
      } catch (error) {
        complain(conversation, error);
      }
      if (!conversation.working) screen.show();
    });
  });
  screen.show();
  await left.promise;
  screen.hide();
  cx.stdin.off("keypress", onKey);
  onTerminate();
  input.close();
  return built;
}

type Completed = (error: null, found: [string[], string]) => void;

/** Each line waits for the answer to the one before, but for those that are meant for that very answer. */
async function piped(cx: Terminal, build: (screen: Screen) => Built): Promise<Built> {
  const built = build(plainScreen(cx));
  const { conversation } = built;
  const waiting: string[] = [];
  let ended = false;
  let wake = () => {};
  const read = (async () => {
    for await (const line of lines(cx.stdin as AsyncIterable<Uint8Array>)) {
      if (isForThisTurn(line)) {
        await handleLine(conversation, line).catch((error: unknown) => complain(conversation, error));
      } else waiting.push(line);
      wake();
    }
  })().finally(() => {
    ended = true;
    wake();
  });
  const undo = cx.onStop(() => cx.leave(exitCodes.interrupted));
  try {
    while (waiting.length > 0 || !ended) {
      const line = waiting.shift();
      if (line === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      try {
        if ((await handleLine(conversation, line)) === "leave") return built;
        await conversation.answered();
      } catch (error) {
        complain(conversation, error);
      }
    }
    await read;
    return built;
  } finally {
    undo();
  }
}

/** A session that was made for this chat and never used would only be clutter. */
async function leave(cx: Terminal, client: Client, chat: Chat, own: SessionView | null): Promise<void> {
  if (own !== null && !chat.used) {
    await client.call("closeSession", { path: { session: own.id } }).catch(() => {});
    return;
  }
  if (cx.interactive && chat.session.state !== "closed") {
    cx.warn(createStyle(cx.color).dim(`${chat.session.handle} stays; go on with: aegis chat ${chat.session.handle}`));
  }
}
