// What apps see of the messages that clients and servers share.
@_exported public import BothyProtocol
