import { option } from "./command.ts";

/** Of every command that installs what the scan has judged. */
export const overrideMalicious = option.list(
  "--override-malicious <rule>",
  "install it although this rule found malicious content (repeatable); not available to agents",
);
