/** Passes a request to the node of the cluster that can answer it. See `where.ts`. */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { RemoteCalls, RemoteRequest } from "@aegis/nodes/calls.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Caller } from "./guard.ts";
import type { Handlers, JsonRoute } from "./requests.ts";
import { type RoutePlace, routePlaces } from "./where.ts";

/** What forwarding calls. `remote` is null without a cluster. */
export type ForwardServices = {
  remote: Pick<RemoteCalls, "serve" | "nodeOf" | "channelsNode" | "others" | "ask"> | null;
  sessions: Pick<Sessions, "resolve">;
  ready: { readonly reached: Promise<void> };
};

type Remote = NonNullable<ForwardServices["remote"]>;
/** The parts of a request that say which node answers it. */
type Request = { path: { session?: string }; query: { of?: string | undefined } };
type Run = (request: unknown, signal: AbortSignal, caller: Caller) => Promise<unknown>;

const forwarded: ReadonlySet<RoutePlace> = new Set(["session", "receipts", "gathered", "found", "channels"]);

/** The same handlers, which pass a request on if another node has to answer it. */
export function forwarding(handlers: Handlers, services: ForwardServices): Handlers {
  const { remote } = services;
  if (remote === null) return handlers;
  const names = (Object.keys(handlers) as JsonRoute[]).filter((name) => forwarded.has(routePlaces[name]));
  remote.serve(async ({ route, request, caller }) => {
    const name = names.find((one) => one === route);
    // A newer node may know more routes.
    if (name === undefined) throw new AegisError("invalid", `this node does not answer ${route} for others`);
    await services.ready.reached;
    const run = handlers[name] as unknown as Run;
    return run(request, new AbortController().signal, caller as Caller);
  });
  const wrapped = names.map((name) => [name, forwardedHandler(name, handlers[name] as unknown as Run, services)]);
  return { ...handlers, ...Object.fromEntries(wrapped) };
}

function forwardedHandler(name: JsonRoute, here: Run, services: ForwardServices): Run {
  const place = routePlaces[name];
  const remote = services.remote as Remote;
  return async (request, signal, caller) => {
    const asked: RemoteRequest = { route: name, request, caller };
    const local = () => here(request, signal, caller);
    if (place === "gathered") return gathered(await local(), remote, asked);
    if (place === "found") return found(local, remote, asked);
    const node =
      place === "channels" ? await remote.channelsNode() : await nodeOfSession(request as Request, place, services);
    return node === null ? local() : remote.ask(node, asked);
  };
}

async function nodeOfSession(
  { path, query }: Request,
  place: RoutePlace,
  { sessions, remote }: ForwardServices,
): Promise<string | null> {
  const reference = place === "receipts" ? query.of : path.session;
  if (reference === undefined) return null;
  try {
    return remote?.nodeOf(await sessions.resolve(reference)) ?? null;
  } catch (error) {
    // The handler reports an unknown session, or knows another kind of name.
    if (isAegisError(error) && error.code === "not_found") return null;
    throw error;
  }
}

/** A node that is lost while it is asked contributes nothing: its processes hold nothing any more. */
async function gathered(own: unknown, remote: Remote, asked: RemoteRequest): Promise<unknown> {
  const answers = await Promise.all(
    (await remote.others()).map((node) =>
      remote.ask(node, asked).catch((error: unknown) => {
        if (isAegisError(error) && error.code === "unavailable") return {};
        throw error;
      }),
    ),
  );
  const all = [own, ...answers] as Readonly<Record<string, unknown[]>>[];
  const keys = Object.keys(own as object);
  return Object.fromEntries(keys.map((key) => [key, all.flatMap((one) => one[key] ?? [])]));
}

async function found(local: () => Promise<unknown>, remote: Remote, asked: RemoteRequest): Promise<unknown> {
  try {
    return await local();
  } catch (error) {
    if (!isNotFound(error)) throw error;
    for (const node of await remote.others()) {
      try {
        return await remote.ask(node, asked);
      } catch (failure) {
        if (!isNotFound(failure)) throw failure;
      }
    }
    throw error;
  }
}

function isNotFound(error: unknown): boolean {
  return isAegisError(error) && error.code === "not_found";
}
