/**
 * Lists everyone and everything besides the user that can give work to this project, with the step that revokes the
 * access.
 */

import type { Browser } from "@aegis/contract/api-web.ts";
import type { AuditAccess } from "@aegis/contract/audit.ts";
import type { ChannelView } from "@aegis/contract/channel.ts";
import type { Client } from "@aegis/contract/client.ts";
import type { Config } from "@aegis/project/config/config.ts";

export type AccessSources = {
  config: Pick<Config, "webhooks" | "schedules">;
  browsers: readonly Browser[];
  clients: readonly Client[];
  channels: readonly ChannelView[];
};

export function auditAccess({ config, browsers, clients, channels }: AccessSources): AuditAccess[] {
  return [
    ...browsers.map((one) => ({
      who: `browser ${one.user_agent}`,
      may: "everything in the web app: give work, answer asks, install plugins and skills",
      since: timeOf(one.created_at),
      fix: `aegis web --revoke ${one.id}`,
    })),
    ...channels.flatMap(({ name, peers }) =>
      peers.map((one) => ({
        who: `person ${one.name} (${one.peer}) over ${name}`,
        may: "give work and answer asks",
        since: one.paired_at === null ? null : timeOf(one.paired_at),
        fix:
          one.paired_at === null ? `remove ${one.peer} from ${name}.users` : `aegis channel unpair ${name} ${one.peer}`,
      })),
    ),
    ...clients.map((one) => ({
      who: `program ${one.name} over MCP`,
      may: "start, follow and stop work; it answers no ask",
      since: timeOf(one.created_at),
      fix: `aegis mcp revoke ${one.name}`,
    })),
    ...Object.entries(config.webhooks.in).map(([name, hook]) => ({
      who: `webhook in:${name}`,
      may: `give work to ${workOf(hook)}, with a signature`,
      since: null,
      fix: `remove webhooks.in.${name}`,
    })),
    ...Object.entries(config.schedules).map(([name]) => ({
      who: `schedule ${name}`,
      may: "start work by itself",
      since: null,
      fix: `aegis schedule disable ${name}`,
    })),
  ];
}

function workOf({ agent, session, queue }: Config["webhooks"]["in"][string]): string {
  if (queue !== undefined) return `queue ${queue}`;
  if (session !== undefined) return `session ${session}`;
  return agent === undefined ? "the default agent" : `agent ${agent}`;
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
