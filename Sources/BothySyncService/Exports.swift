// The messages that clients and servers share, for programs with an embedded server.
@_exported public import BothyProtocol
