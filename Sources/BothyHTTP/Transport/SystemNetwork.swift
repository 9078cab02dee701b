// The platform's own way to the network: `.system`, wherever a transport or a loader is wanted.
public import BothyCache

#if canImport(Darwin)
  extension HTTPTransport where Self == URLSessionTransport {
    /// URLSession, with a session of its own.
    public static var system: URLSessionTransport { URLSessionTransport() }
  }

  extension ResourceLoader where Self == URLSessionLoader {
    /// URLSession, with a session of its own.
    public static var system: URLSessionLoader { URLSessionLoader() }
  }
#else
  extension HTTPTransport where Self == AsyncHTTPClientTransport {
    /// AsyncHTTPClient, with connections of its own.
    public static var system: AsyncHTTPClientTransport { AsyncHTTPClientTransport() }
  }

  extension ResourceLoader where Self == AsyncHTTPClientLoader {
    /// AsyncHTTPClient, with connections of its own.
    public static var system: AsyncHTTPClientLoader { AsyncHTTPClientLoader() }
  }
#endif
