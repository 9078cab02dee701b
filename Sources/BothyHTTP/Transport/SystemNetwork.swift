// `.system` is the platform's own network stack, as a transport or as a loader.
public import BothyCache

#if canImport(Darwin)
  extension HTTPTransport where Self == URLSessionTransport {
    /// A transport with URLSession, which has a session of its own.
    public static var system: URLSessionTransport { URLSessionTransport() }
  }

  extension ResourceLoader where Self == URLSessionLoader {
    /// A loader with URLSession, which has a session of its own.
    public static var system: URLSessionLoader { URLSessionLoader() }
  }
#else
  extension HTTPTransport where Self == AsyncHTTPClientTransport {
    /// A transport with AsyncHTTPClient, which has connections of its own.
    public static var system: AsyncHTTPClientTransport { AsyncHTTPClientTransport() }
  }

  extension ResourceLoader where Self == AsyncHTTPClientLoader {
    /// A loader with AsyncHTTPClient, which has connections of its own.
    public static var system: AsyncHTTPClientLoader { AsyncHTTPClientLoader() }
  }
#endif
