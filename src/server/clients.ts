import { AegisError } from "../contract/errors.ts";
import { clientRoutes, personRoutes, type RouteName } from "../contract/routes.ts";
import type { Clients } from "../runtime/clients/clients.ts";
import type { Handlers } from "./adapter.ts";
import type { Caller } from "./guard.ts";

/** What these handlers call. */
export type ClientServices = {
  clients: Pick<Clients, "nameOf" | "list" | "add" | "remove"> & {
    /** The address of MCP over HTTP. */
    url(): Promise<string>;
  };
};

export function clientHandlers({ clients }: ClientServices) {
  return {
    listClients: () => ({ clients: clients.list() }),
    async addClient({ body }) {
      return { ...(await clients.add(body.name)), url: await clients.url() };
    },
    removeClient: async ({ path }) => ({ removed: await clients.remove(path.client) }),
  } satisfies Partial<Handlers>;
}

/** A client's credential opens only the routes that start and follow work. Consent needs a person in a browser. */
export function requireAllowedRoute(caller: Caller, name: RouteName): void {
  if (caller.kind === "owner" && (caller.browser || !personRoutes.includes(name))) return;
  if (caller.kind === "owner")
    throw new AegisError("forbidden", "only a person in the web app may use this endpoint", {
      hint: "on the command line, use aegis plugin or aegis agent",
    });
  if (clientRoutes.includes(name)) return;
  throw new AegisError("forbidden", `the client "${caller.name}" may not use this endpoint`, {
    hint: "the user's own commands can: see aegis --help",
  });
}
