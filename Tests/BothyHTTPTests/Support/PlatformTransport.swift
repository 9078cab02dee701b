import BothyHTTP

#if canImport(Darwin)
  /// The transport of this platform. URLSession always accepts compressed answers.
  func platformTransport(compression: Bool = true, bodyLimit: Int = 64 << 20) -> any HTTPTransport {
    URLSessionTransport(bodyLimit: bodyLimit)
  }
#else
  /// The transport of this platform.
  func platformTransport(compression: Bool = true, bodyLimit: Int = 64 << 20) -> any HTTPTransport {
    AsyncHTTPClientTransport(compression: compression, bodyLimit: bodyLimit)
  }
#endif
