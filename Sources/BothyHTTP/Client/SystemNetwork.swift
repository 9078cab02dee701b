// `.system` is the platform's own network stack, as a transport or as a loader.
public import BothyCache
import BothySync

#if canImport(Darwin)
  import Foundation

  extension HTTPTransport where Self == URLSessionTransport {
    /// A transport with URLSession, which has a session of its own.
    ///
    /// Each use makes another one, so keep it to share its connections. A response may have 64 MiB.
    public static var system: URLSessionTransport { URLSessionTransport() }
  }

  extension HTTPLoader {
    static func makeTransport() -> any HTTPTransport {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 64
      return URLSessionTransport(configuration: configuration, bodyLimit: .max)
    }

    static var systemMonitor: (any ReachabilityMonitor)? { PathMonitor() }
  }
#else
  extension HTTPTransport where Self == AsyncHTTPClientTransport {
    /// A transport with AsyncHTTPClient, which has connections of its own.
    ///
    /// Each use makes another one, so keep it to share its connections. A response may have 64 MiB. A server
    /// gets at most eight connections.
    public static var system: AsyncHTTPClientTransport { AsyncHTTPClientTransport() }
  }

  extension HTTPLoader {
    static func makeTransport() -> any HTTPTransport {
      AsyncHTTPClientTransport(bodyLimit: .max, connections: 256)
    }

    static var systemMonitor: (any ReachabilityMonitor)? { nil }
  }
#endif

extension ResourceLoader where Self == HTTPLoader {
  /// A loader with the platform's network stack, which has connections of its own.
  ///
  /// It reports the network's state where the system has a monitor. Each use makes another loader.
  public static var system: HTTPLoader { HTTPLoader() }
}
