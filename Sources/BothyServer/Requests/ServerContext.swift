import Hummingbird
import NIOCore

/// What is known of the connection that a request came by.
struct ServerContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of whoever connected: the proxy's, where one stands in front.
  let peer: String?

  /// The connection, among those that are open.
  let connection: ObjectIdentifier

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    connection = ObjectIdentifier(source.channel)
    peer = source.channel.remoteAddress?.ipAddress
  }
}
