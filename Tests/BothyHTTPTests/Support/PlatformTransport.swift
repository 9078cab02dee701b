import BothyHTTP

/// Returns the transport of this platform. URLSession always accepts compressed responses.
func platformTransport(compression: Bool = true, bodyLimit: Int = 64 << 20) -> any HTTPTransport {
  SystemTransport(compression: compression, bodyLimit: bodyLimit)
}
