/** A chat typed on a terminal: passes keys to the editor and texts to the conversation. */
import type { Client } from "@aegis/client/client.ts";
import { sessionLabel } from "../format/session-names.ts";
import { rowJoinFor } from "../line-editor/area.ts";
import { clear, type EditorState, type Effect, emptyEditor, insert, press } from "../line-editor/editor.ts";
import { type Key, KeyReader } from "../line-editor/keys.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type Chat, complain } from "./chat.ts";
import { EditorScreen } from "./editor-screen.ts";
import type { Screen } from "./screen.ts";
import { completeLine, handleLine } from "./slash.ts";

export type Built = { conversation: Chat; followed: Promise<void> };

/** A second Ctrl-C within this time leaves the chat. */
const leaveWithinMs = 2_000;
/** The sequence of a key arrives in one piece or nearly so; a paste may arrive slowly. */
const cutKeyMs = 50;
const cutPasteMs = 1_000;

export async function typed(cx: Terminal, client: Client, build: (screen: Screen) => Built): Promise<Built> {
  const { style } = cx;
  const screen = new EditorScreen({
    write: cx.write,
    size: () => ({ columns: cx.columns, rows: cx.rows }),
    join: rowJoinFor(cx.env.TERM_PROGRAM),
    style,
    unicode: cx.unicode,
    now: Date.now,
  });
  const built = build(screen);
  const { conversation } = built;
  const { session } = conversation;
  screen.line(style.dim(`Chatting with ${sessionLabel(session)}, agent ${session.agent}. /help lists commands.`));
  const left = Promise.withResolvers<void>();
  const leave = () => left.resolve();
  const take = lineTaker(conversation, leave);
  const interrupt = interrupter(conversation, leave);

  let editor = emptyEditor;
  let begun: number | null = null;
  const show = (next: EditorState) => {
    editor = next;
    begun = editor.text === "" ? null : (begun ?? Date.now());
    screen.setInput(editor);
  };
  const submit = (text: string) => {
    const typedAt = begun ?? Date.now();
    begun = null;
    if (text.trim() === "") return;
    if (conversation.working && isMessage(text)) screen.hold(text);
    else screen.echo(text);
    take(text, typedAt);
  };
  const complete = async () => {
    const before = editor;
    const [found, line] = await completeLine(client, editor.text);
    // The user typed on during the lookup, so the result no longer applies.
    if (editor !== before || found.length === 0) return;
    const rest = commonStart(found).slice(line.length);
    if (rest !== "") show(insert({ ...editor, cursor: editor.text.length }, rest));
    else if (found.length > 1) screen.line(style.dim(found.join("  ")));
  };
  const act = (effect: Effect) => {
    switch (effect.kind) {
      case "submit":
        return submit(effect.text);
      case "complete":
        return void complete();
      case "interrupt":
        if (!conversation.working && editor.text !== "") return show(clear(editor));
        return interrupt();
      case "leave":
        return leave();
      case "suspend":
        return keyboard.suspend();
      case "redraw":
        return screen.redraw();
      case "none":
    }
  };
  const pressAll = (keys: readonly Key[]) => {
    for (const key of keys) {
      const { state, effect } = press(editor, key, screen.geometry());
      editor = state;
      act(effect);
    }
    show(editor);
  };

  const keys = new KeyReader();
  let cut: NodeJS.Timeout | undefined;
  const input = (bytes: Uint8Array) => {
    clearTimeout(cut);
    pressAll(keys.feed(bytes));
    if (keys.waiting) cut = setTimeout(() => pressAll(keys.flush()), keys.pasting ? cutPasteMs : cutKeyMs);
  };
  const keyboard = cx.openKeyboard({
    input,
    end: leave,
    resize: () => screen.resized(),
    pause: () => screen.close(),
    resume: () => screen.open(),
  });
  const undo = cx.onStop((signal) => (signal === "SIGINT" ? interrupt() : leave()));
  screen.open();
  try {
    await left.promise;
  } finally {
    clearTimeout(cut);
    screen.finish();
    keyboard.close();
    undo();
  }
  return built;
}

/** Handles typed texts one at a time, so that each text sees the effect of the command before it. */
export function lineTaker(conversation: Chat, leave: () => void, done: () => void = () => {}) {
  let turn = Promise.resolve();
  return (line: string, typedAt: number): void => {
    turn = turn.then(async () => {
      try {
        if ((await handleLine(conversation, line, typedAt)) === "leave") leave();
      } catch (error) {
        complain(conversation, error);
      }
      done();
    });
  };
}

/** Ctrl-C interrupts the current turn; without one, the second press leaves. */
export function interrupter(conversation: Chat, leave: () => void): () => void {
  let last = 0;
  return () => {
    if (conversation.working) {
      void handleLine(conversation, "/interrupt").catch((error: unknown) => complain(conversation, error));
      return;
    }
    const now = Date.now();
    if (now - last < leaveWithinMs) leave();
    else conversation.screen.line(conversation.style.dim("press Ctrl-C again to leave"));
    last = now;
  };
}

function isMessage(text: string): boolean {
  return !text.trimStart().startsWith("/") || text.trimStart().startsWith("//");
}

function commonStart(words: readonly string[]): string {
  const [first = "", ...rest] = words;
  let length = first.length;
  for (const word of rest) while (!word.startsWith(first.slice(0, length))) length -= 1;
  return first.slice(0, length);
}
