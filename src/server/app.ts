/** Routes: the endpoint table joined with its handlers. */
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { type Route, routes } from "../contract/routes.ts";
import type { Logger } from "../lib/log.ts";
import { type AppContext, type Handlers, type JsonRoute, requestReader } from "./adapter.ts";
import { agentHandlers } from "./agents.ts";
import { askHandlers } from "./asks.ts";
import { commandHandlers } from "./commands.ts";
import { daemonHandlers } from "./daemon.ts";
import { type EventStreams, streamHeaders } from "./event-stream.ts";
import { eventHandlers, streamStart } from "./events.ts";
import { groupHandlers } from "./groups.ts";
import { messageHandlers } from "./messages.ts";
import { pluginHandlers } from "./plugins.ts";
import { queueHandlers } from "./queues.ts";
import { errorResponse, toAegisError, unknownRoute, wrongMethod } from "./refusals.ts";
import { scheduleHandlers } from "./schedules.ts";
import type { Services } from "./services.ts";
import { sessionHandlers } from "./sessions.ts";
import { skillInstallHandlers } from "./skill-install.ts";
import { skillHandlers } from "./skills.ts";
import { subagentHandlers } from "./subagents.ts";
import { workflowHandlers } from "./workflows.ts";

export type AppOptions = {
  services: Services;
  streams: EventStreams;
  version: string;
  maxBodyBytes: number;
  log: Logger;
};

export type App = Hono<{ Bindings: HttpBindings }>;

export function createApp(options: AppOptions): App {
  const { services, streams, version, maxBodyBytes, log } = options;
  const app: App = new Hono();
  const handlers: Handlers = {
    ...daemonHandlers(services, version),
    ...agentHandlers(services),
    ...sessionHandlers(services),
    ...messageHandlers(services),
    ...askHandlers(services),
    ...queueHandlers(services),
    ...subagentHandlers(services),
    ...groupHandlers(services),
    ...workflowHandlers(services),
    ...skillHandlers(services),
    ...skillInstallHandlers(services),
    ...pluginHandlers(services),
    ...commandHandlers(services),
    ...scheduleHandlers(services),
    ...eventHandlers(services),
  };

  function addJson<N extends JsonRoute>(name: N): void {
    const handler = handlers[name];
    const { method, path } = routes[name];
    const read = requestReader(name, maxBodyBytes);
    app.on(method, path, async (c: AppContext) => {
      const request = await read(c);
      return Response.json(await handler(request, c.req.raw.signal));
    });
  }

  for (const name of Object.keys(handlers) as JsonRoute[]) addJson(name);
  const readStream = requestReader("streamEvents", maxBodyBytes);
  app.on(routes.streamEvents.method, routes.streamEvents.path, async (c: AppContext) => {
    const { query } = await readStream(c);
    const after = await streamStart(c, services.events, query.after);
    if (c.req.method === "HEAD") return new Response(null, { headers: streamHeaders });
    const { session, live } = query;
    void streams.send(c.env.outgoing as HttpBindings["outgoing"], after, (signal) =>
      services.events.subscribe({ after, session, live, signal }),
    );
    return RESPONSE_ALREADY_SENT;
  });

  for (const [path, methods] of methodsByPath()) {
    app.all(path, (c) => errorResponse(wrongMethod(c.req.method, c.req.path, methods), { allow: methods.join(", ") }));
  }
  app.notFound((c) => errorResponse(unknownRoute(c.req.method, c.req.path)));
  app.onError((error, c) => errorResponse(toAegisError(error, log, { method: c.req.method, path: c.req.path })));
  return app;
}

function methodsByPath(): Map<string, string[]> {
  const byPath = new Map<string, string[]>();
  for (const { method, path } of Object.values<Route>(routes)) {
    const methods = byPath.get(path) ?? [];
    methods.push(...(method === "GET" ? ["GET", "HEAD"] : [method]));
    byPath.set(path, methods);
  }
  return byPath;
}
