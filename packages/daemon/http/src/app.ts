/** Routes: the endpoint table joined with its handlers. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { routes } from "@aegis/contract/routes.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { type AgentServices, agentHandlers } from "./agents.ts";
import { type AskServices, askHandlers } from "./asks.ts";
import { type ChannelServices, channelHandlers } from "./channels.ts";
import { type ClientServices, clientHandlers } from "./clients.ts";
import { type CommandServices, commandHandlers } from "./commands.ts";
import { type CopyServices, copyHandlers } from "./copies.ts";
import { type DaemonServices, daemonHandlers } from "./daemon.ts";
import { type EventServices, type EventStreams, eventHandlers, streamHeaders, streamStart } from "./event-stream.ts";
import { type ForwardServices, forwarding } from "./forward.ts";
import { type GroupServices, groupHandlers } from "./groups.ts";
import { type Caller, requestPath, requireAllowedRoute } from "./guard.ts";
import { type MessageServices, messageHandlers } from "./messages.ts";
import { type NodeServices, nodeHandlers } from "./nodes.ts";
import { type PluginServices, pluginHandlers } from "./plugins.ts";
import { type QueueServices, queueHandlers } from "./queues.ts";
import { sendError, toAegisError, unknownRoute, wrongMethod } from "./refusals.ts";
import { type Handlers, type JsonRoute, type RoutedRequest, requestReader } from "./requests.ts";
import { Router } from "./router.ts";
import { type ScheduleServices, scheduleHandlers } from "./schedules.ts";
import { type SessionServices, sessionHandlers } from "./sessions.ts";
import { type SkillServices, skillHandlers } from "./skills.ts";
import { type SubagentServices, subagentHandlers } from "./subagents.ts";
import { type UsageServices, usageHandlers } from "./usage.ts";
import { type WebServices, webHandlers } from "./web.ts";
import { type WorkflowServices, workflowHandlers } from "./workflows.ts";

/** What the handlers need of the daemon, as each group of them declares it. */
export type Services = DaemonServices &
  AgentServices &
  SessionServices &
  MessageServices &
  CopyServices &
  AskServices &
  QueueServices &
  SubagentServices &
  NodeServices &
  GroupServices &
  WorkflowServices &
  SkillServices &
  PluginServices &
  CommandServices &
  ClientServices &
  ScheduleServices &
  WebServices &
  ChannelServices &
  UsageServices &
  ForwardServices &
  EventServices;

export type AppOptions = {
  services: Services;
  streams: EventStreams;
  version: string;
  maxBodyBytes: number;
  log: Logger;
};

/** Routes that do not depend on plugins. All others wait until every part of a plugin is registered. */
const answeredAtOnce: ReadonlySet<JsonRoute> = new Set<JsonRoute>([
  ...(["health", "openapi", "status", "shutdown", "config"] as const),
  ...(["listSessions", "getSession", "history", "listTurns", "getTurn", "listMessages", "getMessage"] as const),
]);

/** Answers a request. Never rejects. */
export type App = (incoming: IncomingMessage, outgoing: ServerResponse, caller: Caller) => Promise<void>;

type Answering = (request: RoutedRequest, outgoing: ServerResponse, caller: Caller) => Promise<void>;

export function createApp(options: AppOptions): App {
  const { services, streams, version, maxBodyBytes, log } = options;
  const router = new Router<Answering>();
  const ownHandlers: Handlers = {
    ...daemonHandlers(services, version),
    ...agentHandlers(services),
    ...sessionHandlers(services),
    ...messageHandlers(services),
    ...copyHandlers(services),
    ...askHandlers(services),
    ...queueHandlers(services),
    ...subagentHandlers(services),
    ...nodeHandlers(services),
    ...groupHandlers(services),
    ...workflowHandlers(services),
    ...skillHandlers(services),
    ...pluginHandlers(services),
    ...commandHandlers(services),
    ...clientHandlers(services),
    ...scheduleHandlers(services),
    ...webHandlers(services),
    ...channelHandlers(services),
    ...usageHandlers(services),
    ...eventHandlers(services),
  };
  const handlers = forwarding(ownHandlers, services);

  function addJson<N extends JsonRoute>(name: N): void {
    const handler = handlers[name];
    const { method, path } = routes[name];
    const read = requestReader(name, maxBodyBytes);
    const waits = !answeredAtOnce.has(name);
    router.add(method, path, async (routed, outgoing, caller) => {
      requireAllowedRoute(caller, name);
      const signal = signalOf(outgoing);
      const request = await read(routed);
      if (waits && !services.ready.isReached) await services.ready.reached;
      sendJson(outgoing, await handler(request, signal, caller));
    });
  }

  for (const name of Object.keys(handlers) as JsonRoute[]) addJson(name);
  const readStream = requestReader("streamEvents", maxBodyBytes);
  router.add(routes.streamEvents.method, routes.streamEvents.path, async (routed, outgoing) => {
    const { query } = await readStream(routed);
    const after = await streamStart(routed.incoming, services.events, query.after);
    if (routed.incoming.method === "HEAD") return void outgoing.writeHead(200, streamHeaders).end();
    streams.requireRoom();
    const { session, live } = query;
    void streams.send(outgoing, after, (signal) => services.events.subscribe({ after, session, live, signal }));
  });

  return async (incoming, outgoing, caller) => {
    const method = incoming.method ?? "GET";
    const path = requestPath(incoming);
    try {
      const found = router.find(method, path);
      if (found.kind === "unknown") return sendError(outgoing, unknownRoute(method, path));
      if (found.kind === "wrong method") {
        outgoing.setHeader("allow", found.methods.join(", "));
        return sendError(outgoing, wrongMethod(method, path, found.methods));
      }
      await found.entry({ incoming, parameters: found.parameters }, outgoing, caller);
    } catch (error) {
      const told = toAegisError(error, log, { method, path });
      if (outgoing.headersSent) outgoing.destroy();
      else sendError(outgoing, told);
    }
  };
}

/** Aborts when the client leaves before its answer is complete. */
function signalOf(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  return gone.signal;
}

function sendJson(outgoing: ServerResponse, value: unknown): void {
  const text = JSON.stringify(value);
  outgoing.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  // Node omits the body in the answer to a HEAD request.
  outgoing.end(text);
}
