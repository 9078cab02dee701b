import Hummingbird
import NIOCore

/// What is known of the connection that a request came by.
struct ServerContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of whoever connected: the proxy's, where one stands in front.
  let peer: String?

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    peer = source.channel.remoteAddress?.ipAddress
  }
}
