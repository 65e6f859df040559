/** Which request fills a list, and which events make it out of date. */
import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Lists } from "./model.ts";

export type ListName = "queues" | "schedules" | "groups" | "agents" | "skills" | "plugins" | "commands" | "status";

type Source = { load(client: Client): Promise<Partial<Lists>>; events: readonly string[] };

export const listSources: Readonly<Record<ListName, Source>> = {
  queues: {
    load: async (client) => ({ queues: (await client.call("listQueues")).queues }),
    events: ["queue.", "task.enqueued", "task.ended", "land.", "config.reloaded"],
  },
  schedules: {
    load: async (client) => ({ schedules: (await client.call("listSchedules")).schedules }),
    events: ["schedule.", "config.reloaded"],
  },
  groups: {
    load: async (client) => ({ groups: (await client.call("listGroups")).groups }),
    events: ["group."],
  },
  agents: {
    async load(client) {
      const { agents, diagnostics } = await client.call("listAgents");
      return { agents, agentProblems: diagnostics };
    },
    events: ["config.", "plugin."],
  },
  skills: {
    async load(client) {
      const { skills, diagnostics } = await client.call("listSkills", { query: { all: true } });
      return { skills, skillProblems: diagnostics };
    },
    events: ["skill.installed", "skill.updated", "skill.removed", "config.", "plugin."],
  },
  plugins: {
    load: async (client) => ({ plugins: (await client.call("listPlugins")).plugins }),
    events: ["plugin.", "config."],
  },
  commands: {
    load: async (client) => ({ commands: (await client.call("listCommands")).commands }),
    events: ["plugin.", "config."],
  },
  status: {
    load: async (client) => ({ status: await client.call("status") }),
    events: [
      "daemon.started",
      "config.",
      "session.state",
      "session.closed",
      "turn.ended",
      "task.ended",
      "land.",
      "worktree.",
    ],
  },
};

export function listsChangedBy(event: Event): ListName[] {
  const names = Object.keys(listSources) as ListName[];
  return names.filter((name) => listSources[name].events.some((prefix) => event.type.startsWith(prefix)));
}
