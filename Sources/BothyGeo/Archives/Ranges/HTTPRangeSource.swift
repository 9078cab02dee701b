package import BothyCache
package import Foundation
import HTTPTypes

/// A response in place of a part of a file, such as an error or the page of a network that requires a sign-in.
struct StrangeAnswer: Error {
  var answer: FetchedResponse
}

/// A file on a server, read by range requests (RFC 9110, section 14) of a fetcher.
///
/// The fetcher follows redirects, repeats failed requests and respects the limits of the host. The validator of the
/// file's version is its strong ETag, else its weak ETag, else its modification time.
package struct HTTPRangeSource: ByteRangeSource {
  /// The request for the whole file.
  private let order: FetchOrder
  private let fetcher: Fetcher
  private let inFlight: InFlightRequest
  /// Called with the fields of each part, for the freshness of what is in it.
  private let notify: @Sendable (HTTPFields) -> Void

  /// Describes the file without a request. If the server doesn't support range requests, each read throws `BothyError`
  /// `unavailable`.
  package init(url: String, loader: any ResourceLoader) {
    var order = FetchOrder([url])
    // The loader names the app, if a server wants that.
    order.requiresUserAgent = false
    self.init(order, Fetcher(loader))
  }

  init(
    _ order: FetchOrder, _ fetcher: Fetcher, for inFlight: InFlightRequest = InFlightRequest(),
    notify: @escaping @Sendable (HTTPFields) -> Void = { _ in }
  ) {
    self.order = order
    self.fetcher = fetcher
    self.inFlight = inFlight
    self.notify = notify
  }

  private var url: String { String((order.urls.first ?? "").prefix { $0 != "?" && $0 != "#" }) }

  /// Returns the same file for another request in flight.
  func at(_ inFlight: InFlightRequest) -> HTTPRangeSource {
    HTTPRangeSource(order, fetcher, for: inFlight, notify: notify)
  }

  package func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    // Reads at the same time have requests of their own.
    let alone = at(InFlightRequest(inFlight.priority))
    do { return try await alone.part(range, expecting: validator) } catch let strange as StrangeAnswer {
      throw BothyError(
        .unavailable, "\(url) can't be read: the server answered \(strange.answer.status).")
    } catch let failure as LoadFailure {
      throw BothyError(
        failure.reason == .cancelled ? .cancelled : .unavailable,
        "\(url) can't be read: \(failure.description)")
    }
  }

  /// Reads a range. Throws `LoadFailure`, `StrangeAnswer` for a response that isn't a part, and the errors of `bytes`.
  func part(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    guard !range.isEmpty else { return (Data(), validator) }
    var order = order
    order.fields[.range] = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
    order.fields[.acceptEncoding] = "identity"
    for field in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] { order.fields[field] = nil }
    if let validator, validator.hasPrefix("\"") { order.fields[.ifMatch] = validator }
    order.expectation = nil
    order.bodyLimit = max(Int(clamping: range.size), Self.strangeLimit)
    let answer: FetchedResponse
    do { answer = try await fetcher.fetch(order, for: inFlight) } catch {
      if case .tooLarge = error.reason { throw wholeFile }
      throw error
    }
    let current = answer.fields[.eTag] ?? answer.fields[.lastModified]
    switch answer.status {
    case 206, 416: break
    case 412: throw changed
    case 200 where answer.body.starts(with: Array("PMTiles".utf8)): throw wholeFile
    default: throw StrangeAnswer(answer: answer)
    }
    if let validator, let current, validator != current { throw changed }
    if answer.status == 416 { return (Data(), current ?? validator) }
    guard Self.start(answer.fields[.contentRange]) == range.lowerBound else {
      throw BothyError(.unavailable, "The server of \(url) sent another part than it was asked for.")
    }
    guard answer.body.count <= Int(clamping: range.size) else {
      throw BothyError(.unavailable, "The server of \(url) sent more than the part it was asked for.")
    }
    notify(answer.fields)
    return (answer.body, current ?? validator)
  }

  /// The most bytes of a response in place of a part.
  private static let strangeLimit = 1 << 16

  private var wholeFile: BothyError {
    BothyError(
      .unavailable,
      "The server of \(url) does not send parts of files. Download the archive and open the file.")
  }

  /// The error of a file that has another version than the one that is read.
  var changed: BothyError {
    BothyError(.changedArchive, "\(url) was replaced while it was being read. Open it again.")
  }

  /// Returns the first position of a content range: 0 for `bytes 0-99/1000`.
  private static func start(_ field: String?) -> UInt64? {
    guard let field, field.hasPrefix("bytes ") else { return nil }
    return UInt64(field.dropFirst(6).prefix { $0.isNumber })
  }
}
