import BothySyncService
import HTTPTypes
import Hummingbird
import NIOCore

/// Reads the bodies of requests within the limits: of one body, of all that are on their way, and of all that are
/// decompressed.
struct BodyReader: Sendable {
  /// The most bytes of a body, before and after its decompression.
  let limit: Int
  /// The bytes of large bodies and answers that are on their way.
  let transfers: SharedBudget
  /// The bytes of decompressed bodies.
  let unpacked: SharedBudget

  /// The bytes of a body or answer that count as small, and are part of no budget.
  static let small = SyncService.answerStart
  /// The bytes of an answer that count as small for callers without a token.
  static let smallForAll = 256 << 10

  /// - Parameter isShared: true if tokens distinguish users. Otherwise all callers are one user, without a share.
  init(_ limits: ServerConfiguration.Limits, isShared: Bool) {
    limit = limits.bodySize
    let transfer = max(limits.transferSize, limit)
    transfers = SharedBudget(transfer, share: isShared ? max(transfer / 8, limit) : transfer)
    let size = max(limits.unpackedSize, limit)
    unpacked = SharedBudget(size, share: isShared ? max(size / 2, limit) : size)
  }

  /// Receives a body to its end. A caller that waits for it gets the status 100.
  ///
  /// - Parameter hold: takes the bytes of a large body from `transfers` while they arrive.
  func receive(
    _ request: Request, on channel: any Channel, holding hold: SharedBudget.Hold
  ) async throws -> ByteBuffer {
    if let text = request.headers[.contentLength], let length = Int(text), length > limit {
      throw HTTPFailure.tooLarge(limit)
    }
    if request.headers.contains(.expect) {
      channel.triggerUserOutboundEvent(ExchangeHandler.BodyWanted(), promise: nil)
    }
    var (received, counted) = (ByteBuffer(), 0)
    do {
      for try await part in request.body {
        let size = received.readableBytes + part.readableBytes
        guard size <= limit else { throw HTTPFailure.tooLarge(limit) }
        if size > Self.small {
          // The part that makes the body large takes those before it along.
          guard hold.grow(by: size - counted) else { throw HTTPFailure.crowded }
          counted = size
        }
        received.writeImmutableBuffer(part)
      }
    } catch let problem as HTTPFailure {
      throw problem
    } catch is PaceHandler.SlowBody {
      throw HTTPFailure.tooSlow
    } catch {
      throw HTTPFailure.badRequest("The body could not be read to its end.")
    }
    return received
  }

  /// Returns the bytes of a body without its compression.
  ///
  /// - Parameter hold: takes the decompressed bytes from `unpacked`, before they use memory.
  func unpack(_ body: ByteBuffer, _ headers: HTTPFields, holding hold: SharedBudget.Hold) throws -> ByteBuffer
  {
    switch headers[.contentEncoding]?.lowercased() {
    case nil, "", "identity": return body
    case "gzip", "x-gzip": return try decompress(body, holding: hold)
    default:
      var problem = HTTPFailure(
        .unsupportedMediaType, "unsupportedEncoding", "Bodies may be gzip or plain.")
      problem.headers[.acceptEncoding] = "gzip"
      throw problem
    }
  }

  /// Measures the body before it decompresses it, so that a body beyond the budget costs no memory.
  private func decompress(_ body: ByteBuffer, holding hold: SharedBudget.Hold) throws -> ByteBuffer {
    let bytes = Array(body.readableBytesView)
    let size: Int
    do { size = try Gzip.unpackedSize(of: bytes, limit: limit) } catch .tooLarge {
      throw HTTPFailure.tooLarge(limit)
    } catch {
      throw HTTPFailure.badRequest("The body is not what gzip makes.", code: "malformed")
    }
    guard hold.grow(by: size) else {
      throw HTTPFailure.unavailable(
        "The server unpacks as much as it has room for. Send the body again later, or without gzip.")
    }
    return try Gzip.decompress(bytes, size: size)
  }
}
