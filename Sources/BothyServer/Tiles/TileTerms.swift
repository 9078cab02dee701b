import BothyCache
import BothyCore
import HTTPTypes

/// Under which terms what lies in the folder of tiles is given: fields of the answer, and whether the caller has it.
struct TileTerms: Sendable {
  /// Whether everybody may have it, pages of other sites included.
  var isPublic: Bool
  var maxAge: Duration
  var now: @Sendable () -> Int64

  /// The fields of an answer about content with a checksum, of a file of some time.
  func fields(_ tag: String, modified: Int64) -> HTTPFields {
    let seconds = maxAge.components.seconds
    let lifetime = seconds > 0 ? "max-age=\(seconds)" : "no-cache"
    var fields = shared()
    fields[.eTag] = "\"\(tag)\""
    fields[.cacheControl] = "\(isPublic ? "public" : "private"), \(lifetime)"
    // A time ahead of the server's own would be none to compare with (RFC 9110, 8.8.2.1).
    fields[.lastModified] = HTTPDate.text(min(modified, now()))
    return fields
  }

  /// What lets pages of other sites read what everybody may have.
  func shared() -> HTTPFields {
    guard isPublic else { return [:] }
    var fields: HTTPFields = [.accessControlAllowOrigin: "*", .vary: "Accept-Encoding"]
    fields[.accessControlExposeHeaders] = "ETag, Content-Range, Content-Length"
    fields[SecurityFields.resourcePolicy] = "cross-origin"
    return fields
  }

  /// The tag of what the caller has already; nil when it must be sent. Two tags mean the same content, packed and not.
  func held(_ call: Call, _ tags: [String], modified: Int64) throws -> String? {
    let preconditions = try Preconditions(call.headers)
    switch preconditions.ifNoneMatch {
    case .any: return tags[0]
    case .tags: return tags.first { !preconditions.noneMatches($0) }
    case nil: break
    }
    guard let since = call.headers[.ifModifiedSince].flatMap({ HTTPDate.milliseconds($0, now: now()) })
    else { return nil }
    return min(modified, now()) / 1000 <= since / 1000 ? tags[0] : nil
  }
}
