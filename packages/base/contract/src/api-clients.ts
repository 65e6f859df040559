/** The endpoints of clients: programs that use Aegis over MCP with their own credential. */
import { z } from "zod";
import { endpoint } from "./api-parts.ts";
import { clientNameSchema, clientSchema } from "./client.ts";

export const clientEndpoints = {
  listClients: endpoint("List the clients that have a credential for MCP over HTTP", {
    output: z.object({ clients: z.array(clientSchema) }),
  }),
  addClient: endpoint("Issue a credential for MCP over HTTP; the response is the only place that shows it", {
    body: z.object({ name: clientNameSchema }),
    output: z.object({ client: clientSchema, token: z.string(), url: z.string() }),
  }),
  removeClient: endpoint("Revoke the credential of a client", {
    path: z.object({ client: z.string().describe("a client's name") }),
    output: z.object({ removed: clientSchema }),
  }),
};
