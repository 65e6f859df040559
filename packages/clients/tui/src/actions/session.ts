/** Actions of the session screen. */
import { asksOf } from "@aegis/client/model/board.ts";
import type { App } from "../app-api.ts";
import { openSessions } from "../facts/team.ts";
import type { Action } from "./action.ts";

function shown(app: App) {
  const { session } = app.ui;
  return session === null ? undefined : app.store.model.state.cards[session];
}

const isWorking = (app: App) => shown(app)?.state === "working";

function lastWaiting(app: App) {
  const { session } = app.ui;
  return session === null ? undefined : app.store.model.conversations[session]?.transcript.waiting().at(-1);
}

function step(app: App, by: 1 | -1): void {
  const sessions = openSessions(app.store.model.state);
  const at = sessions.findIndex(({ id }) => id === app.ui.session);
  const next = sessions[(at + by + sessions.length) % sessions.length];
  if (next !== undefined) app.openSession(next.id);
}

export const sessionActions: readonly Action[] = [
  {
    id: "message.send",
    title: "send; waits while it works",
    layer: "session",
    keys: ["enter"],
    hint: 1,
    run: (app) => app.submit("queue"),
  },
  {
    id: "message.steer",
    title: "steer",
    layer: "session",
    keys: ["ctrl+s"],
    hint: 2,
    when: isWorking,
    run: (app) => app.submit("steer"),
  },
  {
    id: "turn.interrupt",
    title: "interrupt",
    layer: "session",
    keys: ["escape"],
    hint: 3,
    when: isWorking,
    run(app) {
      const session = shown(app);
      if (session === undefined) return;
      const interrupt = () =>
        app.attempt(app.client.call("interruptSession", { path: { session: session.id } }), "interrupted");
      if (asksOf(app.store.model.state, session.id).length === 0) return interrupt();
      app.confirm("Interrupt the turn?", ["It waits for your answer, which is then no longer possible."], interrupt);
    },
  },
  {
    id: "message.take_back",
    title: "take the last waiting message back",
    layer: "session",
    keys: ["alt+up"],
    when: (app) => lastWaiting(app) !== undefined,
    run(app) {
      const message = lastWaiting(app);
      if (message === undefined) return;
      const { id, body: text } = message;
      app.attempt(
        app.client.call("cancelMessage", { path: { message: id } }).then(() => {
          const draft = app.editorText();
          app.setEditor(draft === "" ? text : `${text}\n${draft}`);
        }),
      );
    },
  },
  {
    id: "editor.new_line",
    title: "new line",
    layer: "session",
    keys: ["ctrl+j", "shift+enter"],
    run: (app) => app.newLine(),
  },
  {
    id: "editor.outside",
    title: "write in your editor",
    layer: "session",
    keys: ["ctrl+g"],
    run: (app) => app.editOutside(),
  },
  {
    id: "image.paste",
    title: "attach the image in the clipboard",
    layer: "session",
    keys: ["ctrl+v"],
    run: (app) => app.pasteImage(),
  },
  {
    id: "fold",
    title: "unfold or fold tool calls and thinking",
    layer: "session",
    keys: ["ctrl+o"],
    run: (app) => app.update({ unfolded: !app.ui.unfolded }),
  },
  {
    id: "history.search",
    title: "search what you sent before",
    layer: "session",
    keys: ["ctrl+r"],
    run: (app) =>
      app.pick(
        "What you sent before",
        app
          .promptHistory()
          .toReversed()
          .map((text) => ({ label: text, about: "", run: () => app.setEditor(text) })),
      ),
  },
  { id: "scroll.up", title: "page up", layer: "session", keys: ["pageUp"], run: (app) => app.scroll("page_up") },
  {
    id: "scroll.down",
    title: "page down",
    layer: "session",
    keys: ["pageDown"],
    run: (app) => app.scroll("page_down"),
  },
  {
    id: "scroll.previous",
    title: "previous message",
    layer: "session",
    keys: ["ctrl+up"],
    run: (app) => app.scroll("previous"),
  },
  { id: "scroll.next", title: "next message", layer: "session", keys: ["ctrl+down"], run: (app) => app.scroll("next") },
  { id: "scroll.start", title: "oldest", layer: "session", keys: ["ctrl+home"], run: (app) => app.scroll("start") },
  { id: "scroll.end", title: "newest", layer: "session", keys: ["ctrl+end"], run: (app) => app.scroll("end") },
  { id: "session.next", title: "next session", layer: "empty", keys: ["tab"], run: (app) => step(app, 1) },
  {
    id: "session.previous",
    title: "previous session",
    layer: "empty",
    keys: ["shift+tab"],
    run: (app) => step(app, -1),
  },
  {
    id: "session.close",
    title: "close this session",
    layer: "empty",
    keys: ["ctrl+w"],
    when: (app) => shown(app) !== undefined,
    run(app) {
      const session = shown(app);
      if (session === undefined) return;
      app.confirm(`Close ${session.handle}?`, ["Its turn ends and its waiting messages are refused."], () =>
        app.attempt(app.client.call("closeSession", { path: { session: session.id } }), `closed ${session.handle}`),
      );
    },
  },
  { id: "help.empty", title: "keys", layer: "empty", keys: ["?"], hint: 99, run: (app) => app.help() },
];
