import Foundation

/// The C library's functions under names that do not collide with Foundation's overloads at the call site.
func sine(_ radians: Double) -> Double { sin(radians) }
func cosine(_ radians: Double) -> Double { cos(radians) }
func arcSine(_ value: Double) -> Double { asin(value) }
