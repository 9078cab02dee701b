import BothyCache
import BothyCore
import HTTPTypes

/// The cache fields of responses from the folder of tiles, and the check of the caller's copy.
struct CacheHeaders: Sendable {
  /// True if the tiles are public, also for pages of other sites.
  var isPublic: Bool
  var maxAge: Duration
  var now: @Sendable () -> Int64

  /// Returns the fields of a response with a checksum and the time of the file.
  func fields(_ tag: String, modified: Int64) -> HTTPFields {
    let seconds = maxAge.components.seconds
    let lifetime = seconds > 0 ? "max-age=\(seconds)" : "no-cache"
    var fields = shared()
    fields[.eTag] = "\"\(tag)\""
    fields[.cacheControl] = "\(isPublic ? "public" : "private"), \(lifetime)"
    // A time ahead of the server's own can't be compared (RFC 9110, 8.8.2.1).
    fields[.lastModified] = HTTPDate.text(min(modified, now()))
    return fields
  }

  /// Returns the fields that let pages of other sites read public tiles.
  func shared() -> HTTPFields {
    guard isPublic else { return [:] }
    var fields: HTTPFields = [.accessControlAllowOrigin: "*", .vary: "Accept-Encoding"]
    fields[.accessControlExposeHeaders] = "ETag, Content-Range, Content-Length"
    fields[SecurityFields.resourcePolicy] = "cross-origin"
    return fields
  }

  /// Returns the tag of the caller's copy, or `nil` if the content has to be sent. Two tags mean the same content,
  /// compressed and not.
  func held(_ call: ServerContext, _ tags: [String], modified: Int64) throws -> String? {
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
