/** MCP over streamable HTTP for both eras of the protocol, stateless: every request stands for itself. */
import { randomUUID } from "node:crypto";
import { type CallToolResult, createMcpHandler, type McpHttpHandler, Server } from "@modelcontextprotocol/server";
import { messageMaxBytes } from "../contract/message.ts";
import { errorText } from "../lib/log.ts";
import type { Credential } from "./credentials.ts";
import type { PlaneOptions } from "./plane.ts";

/** A message at its largest, and room for the JSON around it. */
const maxBodyBytes = messageMaxBytes + 1024 * 1024;
const credentialKey = "credential";

export class McpEndpoint {
  readonly #options: PlaneOptions;
  readonly #handler: McpHttpHandler;

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.#handler = createMcpHandler(
      ({ authInfo }) => {
        const credential = authInfo?.extra?.[credentialKey] as Credential | undefined;
        if (!credential) throw new Error("a request reached the MCP endpoint without a credential");
        return this.#serverFor(credential);
      },
      {
        maxRequestBodySize: maxBodyBytes,
        onerror: (error) => options.log.debug("an MCP request was refused", { error: errorText(error) }),
      },
    );
  }

  fetch(request: Request, credential: Credential): Promise<Response> {
    const authInfo = { token: "", clientId: credential.session, scopes: [], extra: { [credentialKey]: credential } };
    return this.#handler.fetch(request, { authInfo });
  }

  close(): Promise<void> {
    return this.#handler.close();
  }

  #serverFor(credential: Credential): Server {
    const { tools, version } = this.#options;
    const server = new Server({ name: "aegis", version }, { capabilities: { tools: { listChanged: true } } });
    server.setRequestHandler("tools/list", async () => {
      credential.markListed();
      return {
        tools: tools.specs().map((spec) => ({
          name: spec.name,
          description: spec.description,
          inputSchema: { type: "object" as const, ...spec.inputSchema },
          annotations: { readOnlyHint: spec.readOnly },
        })),
      };
    });
    server.setRequestHandler("tools/call", async (request, context) =>
      this.#call(credential, request.params, context.mcpReq.signal),
    );
    return server;
  }

  async #call(
    credential: Credential,
    params: { name: string; arguments?: unknown; _meta?: Record<string, unknown> | undefined },
    signal: AbortSignal,
  ): Promise<CallToolResult> {
    const caller = await this.#options.store.read.sessions.get(credential.session);
    if (!caller || caller.closed_at !== null) return failure("this session is closed");
    const outcome = await this.#options.tools.call(params.name, params.arguments, {
      caller,
      key: `${caller.id}/${callId(params._meta)}`,
      signal: AbortSignal.any([signal, credential.revoked]),
    });
    return { content: [{ type: "text", text: outcome.output }], isError: outcome.is_error };
  }
}

/** Claude Code names the call it makes; nobody repeats one that has no name. */
function callId(meta: Record<string, unknown> | undefined): string {
  const named = meta?.["claudecode/toolUseId"];
  return typeof named === "string" ? named : randomUUID();
}

function failure(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}
