// The messages of clients and servers that apps see.
@_exported public import BothyProtocol
