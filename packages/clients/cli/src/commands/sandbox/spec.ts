/** Commands about what programs reach. */
import { command, type Exit, option } from "../../program/command.ts";

export const sandboxCommands = {
  accept: command({
    path: "sandbox accept",
    summary: "Accept that programs are confined less than before",
    options: { yes: option.flag("-y, --yes", "agree without a prompt") },
    examples: ["aegis sandbox accept"],
    run: (cx, args): Exit => import("./accept.ts").then((it) => it.sandboxAccept(cx, args)),
  }),
};
