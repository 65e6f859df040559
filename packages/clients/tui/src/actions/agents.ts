/** Actions on agents, skills and plugins. */
import type { Action } from "./action.ts";
import { onRow } from "./on-row.ts";

export const agentActions: readonly Action[] = [
  onRow(
    { id: "agent.spawn", title: "spawn", keys: ["enter", "s"], hint: 1, layer: "agents", kind: "agent" },
    (app, { agent }) =>
      app.attempt(
        app.client
          .call("createSession", {
            body: { agent: agent.plugin === null ? agent.slug : `${agent.plugin}:${agent.slug}` },
          })
          .then(({ session }) => app.openSession(session.id)),
      ),
  ),
  onRow(
    { id: "skill.open", title: "read", keys: ["enter"], hint: 1, layer: "agents", kind: "skill" },
    (app, { skill }) => {
      const name = skill.plugin === null ? skill.name : `${skill.plugin}:${skill.name}`;
      app.attempt(
        app.client
          .call("getSkill", { path: { skill: name } })
          .then((answer) => app.text(`skill ${skill.name}`, answer.skill.body)),
      );
    },
  ),
  onRow(
    { id: "plugin.open", title: "details", keys: ["enter"], hint: 1, layer: "agents", kind: "plugin" },
    (app, { plugin }) =>
      app.attempt(
        app.client.call("getPlugin", { path: { plugin: plugin.name } }).then((answer) => {
          const { diagnostics, brings, place } = answer.plugin;
          const parts = Object.entries(brings).map(([name, list]) => `${name}: ${list.length}`);
          const problems = diagnostics.map(
            ({ level, file, line, message }) => `${level} ${file ?? ""}:${line ?? ""} ${message}`,
          );
          app.text(`plugin ${plugin.name}`, [place, parts.join(", "), ...problems].join("\n"));
        }),
      ),
  ),
  onRow(
    { id: "plugin.reload", title: "reload", keys: ["r"], hint: 2, layer: "agents", kind: "plugin" },
    (app, { plugin }) => app.attempt(app.client.call("reloadPlugins", { body: { plugin: plugin.name } }), "reloaded"),
  ),
];
