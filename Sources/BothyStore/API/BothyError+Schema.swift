import BothyCore

extension BothyError {
  static func invalidSchema(_ message: String) -> BothyError { BothyError(.invalidSchema, message) }
}
