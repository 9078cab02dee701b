import Hummingbird
import NIOCore

/// The connection that a request arrived on.
struct ServerContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of the other side. If a proxy is in front of the server, it is the proxy's.
  let peer: String?

  /// The identity of the connection among the open ones.
  let connection: ObjectIdentifier

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    connection = ObjectIdentifier(source.channel)
    peer = source.channel.remoteAddress?.ipAddress
  }
}
