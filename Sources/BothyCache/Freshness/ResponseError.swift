/// A response that isn't usable. The stored entry and its times do not change.
package struct ResponseError: Sendable, Hashable {
  /// The status of the response. It may be 200 if only the content is unexpected.
  package var status: Int
  /// True if another request may succeed.
  package var isTransient: Bool
  /// The pause that the server demands by `Retry-After`, in milliseconds.
  package var retryAfter: Int64?
  /// The difference between the content and the source's expectation.
  package var mismatch: ContentMismatch?

  package init(status: Int, isTransient: Bool, retryAfter: Int64? = nil, mismatch: ContentMismatch? = nil) {
    self.status = status
    self.isTransient = isTransient
    self.retryAfter = retryAfter
    self.mismatch = mismatch
  }
}
