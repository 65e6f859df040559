/** Actions on every screen. */

import type { App } from "../app-api.ts";
import { openSessions } from "../facts/team.ts";
import type { Action } from "./action.ts";

const leaveWithinMs = 2_000;

/** `leaveAsked` remembers the first press of the key that leaves. */
export function globalActions(): Action[] {
  let leaveAsked = Number.NEGATIVE_INFINITY;
  const screens = [
    { id: "dashboard", title: "dashboard", keys: ["ctrl+d"], screen: "dashboard", hint: 20 },
    { id: "needs", title: "needs you", keys: ["ctrl+n"], screen: "needs", hint: 21 },
    { id: "team", title: "team", keys: ["f4"], screen: "team", hint: 23 },
    { id: "agents", title: "agents, skills, plugins", keys: ["f6"], screen: "agents" },
  ] as const;
  return [
    ...screens.map(
      ({ id, title, keys, screen, ...more }): Action => ({
        id: `screen.${id}`,
        title,
        layer: "global",
        keys,
        palette: true,
        ...more,
        run: (app) => (app.ui.screen === screen ? app.back() : app.show(screen)),
      }),
    ),
    { id: "palette", title: "palette", layer: "global", keys: ["ctrl+p"], hint: 22, run: (app) => app.palette() },
    { id: "session.new", title: "new session", layer: "global", keys: ["ctrl+t"], palette: true, run: newSession },
    {
      id: "daemon.start",
      title: "start the daemon",
      layer: "global",
      keys: ["f5"],
      hint: 0,
      palette: true,
      when: (app) => app.store.model.connection === "away",
      run: (app) => app.startDaemon(),
    },
    { id: "suspend", title: "suspend", layer: "global", keys: ["ctrl+z"], run: (app) => app.suspend() },
    { id: "redraw", title: "redraw the screen", layer: "global", keys: ["ctrl+l"], run: (app) => app.redraw() },
    {
      id: "leave",
      title: "clear the editor; twice: leave",
      layer: "global",
      keys: ["ctrl+c"],
      run(app) {
        if (app.ui.screen === "session" && app.editorText() !== "") {
          app.setEditor("");
          return;
        }
        if (app.now - leaveAsked < leaveWithinMs) app.leave();
        else app.flash(`Press ${app.keyOf("leave")} again to leave. ${app.afterLeaving}`);
        leaveAsked = app.now;
      },
    },
    ...Array.from(
      { length: 9 },
      (_, index): Action => ({
        id: `session.go.${index + 1}`,
        title: `session ${index + 1}`,
        layer: "global",
        keys: [`alt+${index + 1}`, `ctrl+${index + 1}`],
        run: (app) => goTo(app, index),
      }),
    ),
    { id: "help", title: "keys", layer: "global", keys: ["f1"], palette: true, run: (app) => app.help() },
  ];
}

function goTo(app: App, index: number): void {
  const session = openSessions(app.store.model.state)[index];
  if (session !== undefined) app.openSession(session.id);
}

/** Offers the agents, and opens the session that starts. */
export function newSession(app: App): void {
  const start = (agent: string) =>
    app.attempt(
      app.client.call("createSession", { body: { agent } }).then(({ session }) => app.openSession(session.id)),
    );
  app.attempt(
    app.client.call("listAgents").then(({ agents }) =>
      app.pick(
        "New session: which agent?",
        agents
          .toSorted((a, b) => Number(b.default) - Number(a.default))
          .map(({ slug, description, harness, plugin, default: isDefault }) => ({
            label: plugin === null ? slug : `${plugin}:${slug}`,
            about: `${harness}${isDefault ? ", default" : ""}${description === "" ? "" : ` · ${description}`}`,
            run: () => start(plugin === null ? slug : `${plugin}:${slug}`),
          })),
      ),
    ),
  );
}
