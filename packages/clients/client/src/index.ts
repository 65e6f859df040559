/** The entry point "aegis/client". Every export of this file is public API. */

export * from "./portable.ts";
export { type ConnectOptions, connect } from "./project/connect.ts";
