import BothyHTTP

#if canImport(Darwin)
  /// Returns the transport of this platform. URLSession always accepts compressed responses.
  func platformTransport(compression: Bool = true, bodyLimit: Int = 64 << 20) -> any HTTPTransport {
    URLSessionTransport(bodyLimit: bodyLimit)
  }
#else
  /// Returns the transport of this platform.
  func platformTransport(compression: Bool = true, bodyLimit: Int = 64 << 20) -> any HTTPTransport {
    AsyncHTTPClientTransport(compression: compression, bodyLimit: bodyLimit)
  }
#endif
