/** The form of the tokens that identify sessions at their MCP endpoints. */
import type { SecretForm } from "./redact.ts";

/**
 * Redaction recognises session tokens by their form. A list of the tokens in use would grow with each session and be
 * searched at each write.
 */
export const sessionTokenForm: SecretForm = { lead: "aegis-session-", class: "[\\w-]", count: 43 };
