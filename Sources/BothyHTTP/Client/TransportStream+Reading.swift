import BothySync
import Synchronization

// Bodies: as streams that are read on demand, and whole.

extension TransportStream {
  /// Reads the body to its end.
  ///
  /// Throws `RemoteError` after more than `limit` bytes, and if nothing arrives for `silence`.
  func response(upTo limit: Int, silence: Duration) async throws(RemoteError) -> TransportResponse {
    let bytes = Mutex<[UInt8]>([])
    do {
      try await SilenceWatch.withLimit(silence) { heard in
        for try await piece in body {
          heard()
          try bytes.withLock { bytes in
            guard bytes.count + piece.count <= limit else { throw RemoteError.tooLarge(limit) }
            bytes.append(contentsOf: piece)
          }
        }
        // The stream of a cancelled task ends early without an error.
        try Task.checkCancellation()
      }
    } catch {
      throw error as? RemoteError ?? .cancelled
    }
    return TransportResponse(status: status, headers: headers, body: bytes.withLock { $0 })
  }
}

extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
  /// Makes a stream of the pieces of `source`, which it reads on demand and releases with itself.
  /// - Parameter failure: Makes the error to throw from an error of `source`.
  init<Source: AsyncSequence & SendableMetatype>(
    reading source: Source, _ piece: @escaping @Sendable (Source.Element) -> Element,
    failure: @escaping @Sendable (any Error) -> any Error
  ) {
    let pieces = SourcePieces(source)
    self.init {
      do { return try await pieces.next(piece) } catch { throw failure(error) }
    }
  }
}

/// The pieces of a body. Unchecked because an iterator isn't sendable, but the stream requests one piece at a time.
private final class SourcePieces<Source: AsyncSequence & SendableMetatype>: @unchecked Sendable {
  private var iterator: Source.AsyncIterator

  init(_ source: Source) { iterator = source.makeAsyncIterator() }

  func next<Piece>(_ piece: @Sendable (Source.Element) -> Piece) async throws -> Piece? {
    try await iterator.next().map(piece)
  }
}
