/** Answers to asks. An answer carries the digest of what was shown, so a changed ask is never answered by mistake. */
import type { ApiOutput } from "@aegis/contract/api.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { App } from "../app-api.ts";
import { createTheme } from "../theme.ts";
import { askLines } from "../view/needs-you.ts";
import type { Action } from "./action.ts";
import { onRow } from "./on-row.ts";

const wholeWidth = 100;

function shown(app: App): Ask | null {
  if (app.ui.screen === "session") return app.drawnAsk();
  const row = app.row();
  return row?.kind === "ask" ? row.open.ask : null;
}

function answer(app: App, ask: Ask, body: { choice: string | null; text?: string }, done: string): void {
  const sent = { ...body, digest: ask.digest, via: "terminal" };
  app.attempt(app.client.call("answerAsk", { path: { ask: ask.id }, body: sent }), done);
}

/** A key for one of the choices of an approval. */
function choice(id: string, key: string, option: string, title: string, done: string, hint: number): Action {
  return {
    id,
    title,
    layer: "needs",
    keys: [key],
    hint,
    when: (app) => shown(app)?.tool !== null && shown(app)?.options.includes(option) === true,
    run(app) {
      const ask = shown(app);
      if (ask !== null) answer(app, ask, { choice: option }, done);
    },
  };
}

export const askActions: readonly Action[] = [
  choice("ask.allow", "y", "allow", "allow", "allowed", 0.1),
  choice("ask.always", "a", "always", "always", "allowed for this session", 0.2),
  choice("ask.deny", "n", "deny", "deny", "denied", 0.3),
  {
    id: "ask.text",
    title: "answer with a text",
    layer: "needs",
    keys: ["t"],
    hint: 0.4,
    when: (app) => shown(app) !== null,
    run(app) {
      const ask = shown(app);
      if (ask === null) return;
      const isApproval = ask.options.includes("deny");
      app.input(isApproval ? "Deny, because" : "Your answer", "", (text) => {
        if (text.trim() === "") return;
        answer(app, ask, { choice: isApproval ? "deny" : null, text }, isApproval ? "denied" : "answered");
      });
    },
  },
  ...Array.from(
    { length: 9 },
    (_, index): Action => ({
      id: `ask.option.${index + 1}`,
      title: `choose option ${index + 1}`,
      layer: "needs",
      keys: [String(index + 1)],
      when: (app) => shown(app)?.options[index] !== undefined,
      run(app) {
        const ask = shown(app);
        const option = ask?.options[index];
        if (ask !== null && option !== undefined) answer(app, ask, { choice: option }, `answered ${option}`);
      },
    }),
  ),
  {
    id: "ask.show",
    title: "show everything",
    layer: "needs",
    keys: ["enter"],
    hint: 5,
    when: (app) => shown(app) !== null,
    run(app) {
      const ask = shown(app);
      if (ask === null) return;
      const look = { theme: createTheme({ depth: "none", scheme: "dark", ascii: false }), clock: () => app.now };
      app.text("The whole ask", askLines(look, ask, wholeWidth).join("\n"));
    },
  },
  onRow(
    { id: "need.land", title: "land", layer: "needs", keys: ["l"], hint: 0.6, kind: "need" },
    (app, { need }) => {
      const { session, target, title } = need;
      if (session === null) return;
      const check = need.check === "passed" ? "Its check passed." : "No check has passed on it.";
      app.confirm(`Land on ${target}?`, [title, `It becomes one commit. ${check}`], () =>
        app.attempt(app.client.call("landSession", { path: { session }, body: {} }).then(landed)),
      );
    },
    ({ need }) => need.kind === "ready" && need.target !== null,
  ),
];

/** A landing that did not succeed is an answer, too. */
function landed({ landing }: ApiOutput<"landSession">): void {
  const { state, detail, target } = landing;
  if (state !== "landed" && state !== "nothing") throw new Error(`not landed on ${target}: ${detail ?? state}`);
}
