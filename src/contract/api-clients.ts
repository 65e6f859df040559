/** The endpoints of clients: programs that use Aegis over MCP with a credential of their own. */
import { z } from "zod";
import { type Endpoint, none } from "./api-parts.ts";
import { clientNameSchema, clientSchema } from "./client.ts";

export const clientEndpoints = {
  listClients: {
    summary: "List the clients that have a credential for MCP over HTTP",
    path: none,
    query: none,
    body: none,
    output: z.object({ clients: z.array(clientSchema) }),
  },
  addClient: {
    summary: "Issue a credential for MCP over HTTP; the response is the only place that shows it",
    path: none,
    query: none,
    body: z.object({ name: clientNameSchema }),
    output: z.object({ client: clientSchema, token: z.string(), url: z.string() }),
  },
  removeClient: {
    summary: "Revoke the credential of a client",
    path: z.object({ client: z.string().describe("a client's name") }),
    query: none,
    body: none,
    output: z.object({ removed: clientSchema }),
  },
} satisfies Record<string, Endpoint>;
