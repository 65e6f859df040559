import type { Clients } from "./mcp-clients.ts";
import type { Handlers } from "./requests.ts";

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
