// The platform's own network stack, which `.system` is as a transport or as a loader.
public import BothyCache
import BothySync

#if canImport(Darwin)
  import Foundation

  /// The transport of this platform.
  package typealias SystemTransport = URLSessionTransport

  extension URLSessionTransport {
    /// Creates a transport with the parameters that that of Linux has, for code that runs on both.
    ///
    /// - Parameter compression: ignored, because URLSession always accepts compressed responses.
    package convenience init(compression: Bool, bodyLimit: Int = 64 << 20, connections: Int = 8) {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = connections
      self.init(configuration: configuration, bodyLimit: bodyLimit)
    }
  }

  extension HTTPTransport where Self == URLSessionTransport {
    /// A transport with URLSession, which has a session of its own.
    ///
    /// Each use makes another one, so keep it to share its connections. A response may have 64 MiB.
    public static var system: URLSessionTransport { URLSessionTransport() }
  }

  extension HTTPLoader {
    static let connections = 64
    static var systemMonitor: (any ReachabilityMonitor)? { PathMonitor() }
  }
#else
  /// The transport of this platform.
  package typealias SystemTransport = AsyncHTTPClientTransport

  extension HTTPTransport where Self == AsyncHTTPClientTransport {
    /// A transport with AsyncHTTPClient, which has connections of its own.
    ///
    /// Each use makes another one, so keep it to share its connections. A response may have 64 MiB. A server
    /// gets at most eight connections.
    public static var system: AsyncHTTPClientTransport { AsyncHTTPClientTransport() }
  }

  extension HTTPLoader {
    static let connections = 256
    static var systemMonitor: (any ReachabilityMonitor)? { nil }
  }
#endif

extension ResourceLoader where Self == HTTPLoader {
  /// A loader with the platform's network stack, which has connections of its own.
  ///
  /// It reports the network's state where the system has a monitor. Each use makes another loader.
  public static var system: HTTPLoader { HTTPLoader() }
}
